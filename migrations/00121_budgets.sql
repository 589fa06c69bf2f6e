-- Prices, which turn the amounts of the usage ledger into money, and budgets: how much a team, a
-- project, a person or an environment should use in a month.

-- +goose Up
-- Without prices, amounts have no cost. What a thing costs per hour; traffic per GiB.
CREATE TABLE usage_prices (
    single          boolean PRIMARY KEY DEFAULT true CHECK (single),
    currency        text NOT NULL CHECK (length(currency) BETWEEN 1 AND 10),
    cpu_hour        double precision NOT NULL DEFAULT 0 CHECK (cpu_hour >= 0),
    memory_gib_hour double precision NOT NULL DEFAULT 0 CHECK (memory_gib_hour >= 0),
    gpu_hour        double precision NOT NULL DEFAULT 0 CHECK (gpu_hour >= 0),
    traffic_gib     double precision NOT NULL DEFAULT 0 CHECK (traffic_gib >= 0)
);

CREATE TABLE budgets (
    name       text PRIMARY KEY CHECK (name ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'),
    scope      text NOT NULL CHECK (scope IN ('team', 'project', 'person', 'environment')),
    subject    text NOT NULL CHECK (length(subject) BETWEEN 1 AND 100),
    measure    text NOT NULL CHECK (measure IN ('cpu_hours', 'memory_gib_hours', 'gpu_hours', 'cost')),
    amount     double precision NOT NULL CHECK (amount > 0),
    -- At which percentages of the amount a notice is given.
    shares     integer[] NOT NULL CHECK (cardinality(shares) BETWEEN 1 AND 10),
    -- Whether deployments are removed when all of it is used, a day after a notice of that.
    remove     boolean NOT NULL DEFAULT false,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- What was said of a budget in a month, so that it is said once. remove_at is set by the notice
-- that announces removals.
CREATE TABLE budget_notices (
    budget    text NOT NULL REFERENCES budgets ON DELETE CASCADE,
    month     timestamptz NOT NULL,
    share     integer NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    remove_at timestamptz,
    PRIMARY KEY (budget, month, share)
);

-- +goose Down
DROP TABLE budget_notices, budgets, usage_prices;
DELETE FROM notices WHERE event LIKE 'budget.%';
