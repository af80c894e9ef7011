-- bk_supplier_id of the last registration that gave one, to be echoed.
ALTER TABLE hosts ADD COLUMN supplier INTEGER NOT NULL DEFAULT 0;
