INSERT INTO former_hosts VALUES ('old.third.qa.lab.example', '00000000-0000-4000-8000-000000000027', 'web', 80);
