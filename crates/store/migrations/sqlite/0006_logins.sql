-- Where a login was begun: the address, and the program as it names itself. NULL in logins of earlier versions.
ALTER TABLE logins ADD COLUMN begun_from TEXT;
ALTER TABLE logins ADD COLUMN user_agent TEXT;
