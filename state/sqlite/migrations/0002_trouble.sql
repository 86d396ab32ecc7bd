-- How delivery to a destination fails, as the daemon last said: for commands that look at the store beside it.
ALTER TABLE destinations ADD COLUMN trouble TEXT NOT NULL DEFAULT '';        -- in a word; '': all is well
ALTER TABLE destinations ADD COLUMN trouble_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE destinations ADD COLUMN trouble_since INTEGER;
