-- name: PutKnownDevice :exec
-- A browser that a person just signed in with.
INSERT INTO known_devices (hash, user_id, used_at) VALUES (@hash, @user_id, @used_at)
ON CONFLICT (hash, user_id) DO UPDATE SET used_at = excluded.used_at;

-- name: IsKnownDevice :one
-- Whether the person signed in with this browser; anybody, without a name.
SELECT EXISTS (SELECT FROM known_devices d JOIN users u ON u.id = d.user_id
    WHERE d.hash = @hash AND d.used_at > @since
    AND (u.name = @user_name OR @user_name = ''))::boolean;

-- name: DeleteKnownDevicesOfUser :exec
-- A new password: the browsers of the old one are strangers again.
DELETE FROM known_devices WHERE user_id = @user_id;

-- name: DeleteUnusedDevices :execrows
-- Browsers that nobody used for long, some at a time: nobody waits long.
DELETE FROM known_devices WHERE (hash, user_id) IN (SELECT d.hash, d.user_id
    FROM known_devices d WHERE d.used_at <= @before LIMIT @most);
