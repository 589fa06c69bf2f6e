INSERT INTO review_commands (id, review_id, verb, author, answer)
SELECT '00000000-0000-4000-8000-000000000152', id, 'extend', 'ada', 'done' FROM reviews LIMIT 1;
