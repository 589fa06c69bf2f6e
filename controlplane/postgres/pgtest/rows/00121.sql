INSERT INTO usage_prices (currency, cpu_hour) VALUES ('EUR', 0.02);
INSERT INTO budgets (name, scope, subject, measure, amount, shares, created_by)
VALUES ('checkout', 'team', 'checkout', 'cpu_hours', 100, '{50,100}', 'ada');
INSERT INTO budget_notices (budget, month, share, remove_at)
VALUES ('checkout', '2026-11-01 00:00:00+00', 50, now());
