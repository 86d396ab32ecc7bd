-- What the policy decided of a run at first sight, as the adapter writes it; 0: the run is told about.
ALTER TABLE told ADD COLUMN ruling INTEGER NOT NULL DEFAULT 0 CHECK (ruling BETWEEN 0 AND 255);
