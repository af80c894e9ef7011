-- The labels of a host as a JSON object. NULL for none.
ALTER TABLE hosts ADD COLUMN labels TEXT;
