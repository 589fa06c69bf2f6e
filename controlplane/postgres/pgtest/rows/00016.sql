INSERT INTO use_samples (subject, width, at, count, cpu, cpu_max, memory, memory_max, disk_free)
VALUES ('00000000-0000-4000-8000-000000000011', 60, now(), 6, 0.5, 1, 1e9, 2000000000, 5000000000);
INSERT INTO use_marks VALUES ('00000000-0000-4000-8000-000000000011', 'boot-1', 12);
