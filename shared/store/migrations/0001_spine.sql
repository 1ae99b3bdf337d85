-- The state of record. One text for SQLite and PostgreSQL: times are milliseconds since 1970 by the database's
-- clock, flags are 0 or 1, JSON is text.

CREATE TABLE tasks (
    id               TEXT   NOT NULL PRIMARY KEY,
    kind             TEXT   NOT NULL,
    objective        TEXT   NOT NULL,
    owner            TEXT   NOT NULL,
    priority         BIGINT NOT NULL,
    models           TEXT   NOT NULL,
    limits           TEXT   NOT NULL,
    state            TEXT   NOT NULL,
    status           TEXT   NOT NULL,
    phase            TEXT   NOT NULL,
    -- Transitions committed so far.
    seq              BIGINT NOT NULL,
    -- The task row hands out these numbers, so neither has a gap.
    next_event       BIGINT NOT NULL,
    next_input       BIGINT NOT NULL,
    stopping         BIGINT NOT NULL,
    paused           BIGINT NOT NULL,
    deadline         BIGINT,
    -- The next moment at which the sweeper writes an input; null when none is left.
    due_at           BIGINT,
    head             TEXT,
    report           TEXT,
    idempotency_key  TEXT,
    request_hash     TEXT   NOT NULL,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    finished_at      BIGINT
);
CREATE UNIQUE INDEX tasks_idempotency ON tasks (owner, idempotency_key);
CREATE INDEX tasks_status ON tasks (status, id);
CREATE INDEX tasks_due ON tasks (due_at);

CREATE TABLE inputs (
    task_id      TEXT   NOT NULL REFERENCES tasks (id),
    number       BIGINT NOT NULL,
    body         TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    -- The transition that consumed it; null until then.
    consumed_seq BIGINT,
    PRIMARY KEY (task_id, number)
);
CREATE INDEX inputs_waiting ON inputs (created_at) WHERE consumed_seq IS NULL;

CREATE TABLE events (
    task_id TEXT   NOT NULL REFERENCES tasks (id),
    number  BIGINT NOT NULL,
    type    TEXT   NOT NULL,
    at      BIGINT NOT NULL,
    data    TEXT   NOT NULL,
    PRIMARY KEY (task_id, number)
);

CREATE TABLE jobs (
    task_id        TEXT   NOT NULL REFERENCES tasks (id),
    number         BIGINT NOT NULL,
    kind           TEXT   NOT NULL,
    spec           TEXT   NOT NULL,
    model          TEXT   NOT NULL,
    owner          TEXT   NOT NULL,
    priority       BIGINT NOT NULL,
    state          TEXT   NOT NULL,
    run_after      BIGINT NOT NULL,
    fence          BIGINT NOT NULL,
    boot_id        TEXT,
    lease_until    BIGINT,
    -- Journaled steps; also the next step's ordinal.
    steps          BIGINT NOT NULL,
    -- Whether this claim has journaled a step.
    progress       BIGINT NOT NULL,
    faults         BIGINT NOT NULL,
    -- Workers that died in a row without a new step.
    deaths         BIGINT NOT NULL,
    -- Infrastructure failures in a row at the same step.
    infra_failures BIGINT NOT NULL,
    -- The latest of them; null while there is none.
    failed_at      BIGINT,
    last_error     TEXT,
    created_at     BIGINT NOT NULL,
    claimed_at     BIGINT,
    finished_at    BIGINT,
    PRIMARY KEY (task_id, number)
);
CREATE INDEX jobs_ready ON jobs (model, priority, created_at) WHERE state = 'ready';
CREATE INDEX jobs_running ON jobs (lease_until) WHERE state = 'running';

CREATE TABLE steps (
    task_id     TEXT   NOT NULL,
    job         BIGINT NOT NULL,
    ordinal     BIGINT NOT NULL,
    name        TEXT   NOT NULL,
    input_hash  TEXT   NOT NULL,
    output      TEXT   NOT NULL,
    duration_ms BIGINT NOT NULL,
    fence       BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    PRIMARY KEY (task_id, job, ordinal),
    FOREIGN KEY (task_id, job) REFERENCES jobs (task_id, number)
);

-- One row per model call, also when it failed, was cut or lost its lease.
CREATE TABLE ledger (
    id                TEXT   NOT NULL PRIMARY KEY,
    task_id           TEXT   NOT NULL REFERENCES tasks (id),
    job               BIGINT NOT NULL,
    fence             BIGINT NOT NULL,
    agent             TEXT   NOT NULL,
    model             TEXT   NOT NULL,
    endpoint          TEXT   NOT NULL,
    outcome           TEXT   NOT NULL,
    prompt_tokens     BIGINT,
    completion_tokens BIGINT,
    cached_tokens     BIGINT,
    duration_ms       BIGINT NOT NULL,
    at                BIGINT NOT NULL
);
CREATE INDEX ledger_task ON ledger (task_id);

-- When each owner last had a turn, per model.
CREATE TABLE turns (
    model   TEXT   NOT NULL,
    owner   TEXT   NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (model, owner)
);

CREATE TABLE processes (
    boot_id      TEXT   NOT NULL PRIMARY KEY,
    host         TEXT   NOT NULL,
    role         TEXT   NOT NULL,
    version      TEXT   NOT NULL,
    model        TEXT,
    endpoint     TEXT,
    gpu          TEXT,
    slots        BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    -- Known to have ended: its file lock is free, or it said so.
    gone         BIGINT NOT NULL
);

CREATE TABLE leases (
    name  TEXT   NOT NULL PRIMARY KEY,
    owner TEXT   NOT NULL,
    epoch BIGINT NOT NULL,
    until BIGINT NOT NULL
);
