-- Whether a pending delivery may be sent was told by its state, which nearly all of the indexes ask of; so each of them
-- was written again when a row became ready. It stands in a column of its own now, and a pending row's state is 0.
ALTER TABLE deliveries ADD COLUMN ready INTEGER NOT NULL DEFAULT 0 CHECK (ready IN (0, 1));
DROP INDEX deliveries_ready;
DROP INDEX deliveries_due;
UPDATE deliveries SET state = 0, ready = 1 WHERE state = 1;
CREATE INDEX deliveries_ready ON deliveries (dest, seq) WHERE ready = 1 AND due = 0;
CREATE INDEX deliveries_due ON deliveries (dest, due, seq) WHERE ready = 1 AND due > 0;
