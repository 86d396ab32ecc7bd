-- A fingerprint of the datasets that the run's last end named; NULL: none.
ALTER TABLE told ADD COLUMN named INTEGER;

-- When the last completed run that named datasets was stored: what retention counts from.
ALTER TABLE jobs ADD COLUMN good_seen INTEGER;

-- The datasets of each job's last completed run that named any (good_run in jobs), for failed runs that repeat them.
CREATE TABLE good (
    job     INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    dataset INTEGER NOT NULL REFERENCES datasets,
    output  INTEGER NOT NULL CHECK (output IN (0, 1)),
    facets  INTEGER,          -- of the dataset; NULL: none
    PRIMARY KEY (job, dataset, output)
) STRICT, WITHOUT ROWID;
CREATE INDEX good_dataset ON good (dataset);
CREATE INDEX good_facets ON good (facets) WHERE facets IS NOT NULL;
CREATE INDEX jobs_good ON jobs (good_seen) WHERE good_seen IS NOT NULL;

INSERT INTO good (job, dataset, output)
    SELECT e.job, e.dataset, e.output FROM edges e JOIN jobs j ON j.job = e.job AND j.good_run = e.run;
UPDATE jobs SET good_seen = seen WHERE good_run IS NOT NULL;
