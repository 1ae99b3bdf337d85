-- Research: the language and the earlier task of an objective, the result as data, and the history of a team.

ALTER TABLE tasks ADD COLUMN language TEXT;
-- An earlier task with the same question; the result says what changed since.
ALTER TABLE tasks ADD COLUMN previous_task TEXT;
-- Random; markers around words from outside are derived from it. Null for tasks of earlier programs. Never shown.
ALTER TABLE tasks ADD COLUMN secret TEXT;
-- The result as JSON, where the kind has one; `report` holds the same for people.
ALTER TABLE tasks ADD COLUMN result TEXT;
-- Whether a person was asked for: a request that is repeated is compared with these columns, not with a hash of
-- whatever an earlier program knew.
ALTER TABLE tasks ADD COLUMN approve BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks DROP COLUMN request_hash;
-- Inside a text of the state the quotes would be escaped.
UPDATE tasks SET approve = 1 WHERE state LIKE '%"approve":true%';

CREATE TABLE subtasks (
    task_id     TEXT   NOT NULL REFERENCES tasks (id),
    number      BIGINT NOT NULL,
    round       BIGINT NOT NULL,
    title       TEXT   NOT NULL,
    description TEXT   NOT NULL,
    -- 'manager' or 'critic'.
    origin      TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    outcome     TEXT,
    -- The job whose agent run it is.
    job         BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (task_id, number)
);

-- The agents' conversation.
CREATE TABLE messages (
    task_id  TEXT   NOT NULL REFERENCES tasks (id),
    number   BIGINT NOT NULL,
    sender   TEXT   NOT NULL,
    receiver TEXT   NOT NULL,
    type     TEXT   NOT NULL,
    content  TEXT   NOT NULL,
    reason   TEXT,
    metadata TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (task_id, number)
);

-- Findings, `F<subtask>.<place>`, and uncertainties, `U<subtask>.<place>`.
CREATE TABLE findings (
    task_id           TEXT   NOT NULL REFERENCES tasks (id),
    id                TEXT   NOT NULL,
    -- 'finding' or 'uncertainty'.
    kind              TEXT   NOT NULL,
    subtask           BIGINT NOT NULL,
    -- Empty for an uncertainty.
    title             TEXT   NOT NULL,
    claim             TEXT   NOT NULL,
    -- This and the next two are null for an uncertainty.
    confidence        TEXT,
    stated_confidence TEXT,
    level             TEXT,
    notes             TEXT   NOT NULL,
    is_demo           BIGINT NOT NULL,
    reviewed_in       BIGINT,
    verdict           TEXT,
    verdict_note      TEXT,
    created_at        BIGINT NOT NULL,
    PRIMARY KEY (task_id, id)
);

-- What backs a finding.
CREATE TABLE evidence (
    task_id TEXT   NOT NULL,
    finding TEXT   NOT NULL,
    place   BIGINT NOT NULL,
    source  BIGINT NOT NULL,
    quote   TEXT   NOT NULL,
    -- 'page', 'snippet' or 'nowhere'.
    found   TEXT   NOT NULL,
    -- The source's words that match, and the sentences that they stand in.
    passage TEXT,
    sentences TEXT,
    PRIMARY KEY (task_id, finding, place),
    FOREIGN KEY (task_id, finding) REFERENCES findings (task_id, id)
);

-- Every hit of every search, before a model sees it. Numbers are never used again.
CREATE TABLE sources (
    task_id       TEXT   NOT NULL REFERENCES tasks (id),
    number        BIGINT NOT NULL,
    -- As it is shown and asked.
    url           TEXT   NOT NULL,
    -- The form by which two addresses are the same page.
    canonical_url TEXT   NOT NULL,
    title         TEXT   NOT NULL,
    snippet       TEXT   NOT NULL,
    text          TEXT,
    sha256        TEXT,
    media_type    TEXT,
    tool          TEXT   NOT NULL,
    is_demo       BIGINT NOT NULL,
    status        TEXT   NOT NULL,
    note          TEXT,
    published     TEXT,
    -- The source with the same content, where there is one.
    same_as       BIGINT,
    -- The job that found it first.
    found_by      BIGINT NOT NULL,
    found_at      BIGINT NOT NULL,
    read_at       BIGINT,
    PRIMARY KEY (task_id, number)
);
CREATE UNIQUE INDEX sources_page ON sources (task_id, canonical_url);
CREATE INDEX sources_content ON sources (task_id, sha256);

-- Every decision of the Manager, and whether it was taken.
CREATE TABLE decisions (
    task_id      TEXT   NOT NULL REFERENCES tasks (id),
    iteration    BIGINT NOT NULL,
    by_whom      TEXT   NOT NULL,
    action       TEXT   NOT NULL,
    reason       TEXT   NOT NULL,
    message      TEXT   NOT NULL,
    tasks        TEXT   NOT NULL,
    review_focus TEXT,
    accepted     BIGINT NOT NULL,
    rejected     TEXT,
    at           BIGINT NOT NULL,
    PRIMARY KEY (task_id, iteration)
);

-- When a host may be asked again, over all workers.
CREATE TABLE hosts (
    host    TEXT   NOT NULL PRIMARY KEY,
    next_at BIGINT NOT NULL
);
CREATE INDEX hosts_next ON hosts (next_at);
