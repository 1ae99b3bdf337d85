-- What people hold back, what workers see of their model servers, and dead letters that were dismissed.

-- A model, or a kind of task, of which nothing new is claimed.
CREATE TABLE pauses (
    -- 'model' or 'kind'.
    scope   TEXT   NOT NULL,
    name    TEXT   NOT NULL,
    by_whom TEXT   NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (scope, name)
);

-- Who paused a task, and when; null where it is not paused, or was before these columns were.
ALTER TABLE tasks ADD COLUMN paused_by TEXT;
ALTER TABLE tasks ADD COLUMN paused_at BIGINT;

-- What each worker last saw of its endpoint. One process may serve several models of one server.
CREATE TABLE endpoints (
    boot_id        TEXT   NOT NULL REFERENCES processes (boot_id),
    model          TEXT   NOT NULL,
    -- Without credentials.
    url            TEXT   NOT NULL,
    gpu            TEXT,
    slots          BIGINT NOT NULL,
    -- Which program answers there, where it is known.
    server         TEXT,
    state          TEXT   NOT NULL,
    -- For a person: what was asked, what came back, what to do.
    message        TEXT,
    context_tokens BIGINT,
    -- When the state was first seen.
    since          BIGINT NOT NULL,
    seen_at        BIGINT NOT NULL,
    PRIMARY KEY (boot_id, model, url)
);
CREATE INDEX endpoints_model ON endpoints (model);

-- A dead letter that somebody dismissed; null where nobody did.
ALTER TABLE jobs ADD COLUMN dropped_by TEXT;
ALTER TABLE jobs ADD COLUMN dropped_at BIGINT;
-- Their reason stood in the log only.
UPDATE jobs SET last_error = 'its worker died 3 times in a row without a new step'
WHERE state = 'dead' AND deaths >= 3;
CREATE INDEX jobs_dead ON jobs (finished_at) WHERE state = 'dead';

-- Facts about the installation as a whole.
CREATE TABLE installation (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
