-- name: InsertDeviceLogin :exec
-- A program asks to be signed in.
INSERT INTO device_logins (id, hash, code, name, address, scope, days, created_at, expires_at)
VALUES (@id, @hash, @code, @name, @address, @scope, @days, @created_at, @expires_at);

-- name: CountDeviceLogins :one
-- How many wait that came from this address.
SELECT count(*) FROM device_logins WHERE address = @address AND expires_at > @now;

-- name: GetDeviceLogin :one
-- What a person is asked about, by the code that they typed.
SELECT * FROM device_logins WHERE code = @code AND state = 'waiting' AND expires_at > @now;

-- name: DecideDeviceLogin :execrows
-- A person says yes or no, once.
UPDATE device_logins SET state = @state, user_id = @user_id
WHERE id = @id AND state = 'waiting' AND expires_at > @now;

-- name: LockDeviceLogin :one
-- What a program polls.
SELECT * FROM device_logins WHERE hash = @hash FOR UPDATE;

-- name: NotePoll :exec
-- When it polled, and how long it has to wait from now on.
UPDATE device_logins SET polled_at = @at, pause = @pause WHERE id = @id;

-- name: DeleteDeviceLogin :exec
-- It is used up.
DELETE FROM device_logins WHERE id = @id;

-- name: DeleteOldDeviceLogins :execrows
-- What nobody confirmed, some at a time. Programs are told for a while that their time is over.
DELETE FROM device_logins WHERE id IN (SELECT d.id FROM device_logins d
    WHERE d.expires_at < @before LIMIT @most);
