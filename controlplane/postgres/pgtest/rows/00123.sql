INSERT INTO person_notices (id, user_id, kind, subject)
VALUES ('00000000-0000-4000-8000-000000012301', '00000000-0000-4000-8000-000000000001', 'alert', 'a node is offline');
INSERT INTO deployment_comments (id, deployment_id, author, body)
VALUES ('00000000-0000-4000-8000-000000012302', '00000000-0000-4000-8000-000000000012', 'ada', 'the cart is empty');
INSERT INTO access_requests (id, user_id, object)
VALUES ('00000000-0000-4000-8000-000000012303', '00000000-0000-4000-8000-000000000001', 'project/shop');
