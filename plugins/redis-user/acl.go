package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nullops/nullops/internal/wait"
)

func newClient(p parameters, user, password string) *redis.Client {
	o := &redis.Options{
		Addr:     net.JoinHostPort(p.Host, strconv.Itoa(p.Port)),
		Username: user, Password: password, DB: p.Database,
		// One session is enough, and it never tells the server about itself.
		PoolSize: 1, MaxRetries: -1, DisableIdentity: true,
		DialTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
	}
	if p.TLS {
		o.TLSConfig = &tls.Config{ServerName: p.Host, MinVersion: tls.VersionTLS12}
	}
	if password == "" {
		o.Username = "" // a server without a password knows no sign-in
	}
	return redis.NewClient(o)
}

// hangUp ends the session; the work is done and a lost goodbye costs nothing.
func hangUp(c *redis.Client) { _ = c.Close() }

// connectAdmin waits for the server to come up, but not for a wrong password.
func connectAdmin(ctx context.Context, p parameters, password string, log *slog.Logger) (
	*redis.Client, error,
) {
	c := newClient(p, p.AdminUser, password)
	err := wait.Retry{
		Every: 500 * time.Millisecond, For: wait.Seconds(p.ConnectSeconds), IsFinal: isFinalRefusal,
		Failed: func(attempt, limit int) {
			log.Warn("the server does not answer yet", "try", attempt, "of", limit)
		},
	}.Do(ctx, func() error { return c.Ping(ctx).Err() })
	if err != nil {
		hangUp(c)
		return nil, fmt.Errorf("connect to %s as %s: %w", p.Host, p.AdminUser, err)
	}
	log.Info("connected", "host", p.Host, "port", p.Port, "user", p.AdminUser)
	return c, nil
}

// isFinalRefusal reports whether retrying cannot help.
func isFinalRefusal(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) && !strings.HasPrefix(answer.Error(), "LOADING")
}

// setUser creates the account from scratch: reset removes all earlier rules. The password travels
// as its hash, so that no command log of the server holds it.
func setUser(ctx context.Context, c *redis.Client, p parameters, password string) error {
	hash := sha256.Sum256([]byte(password))
	rules := append([]string{
		"reset", "on", "#" + hex.EncodeToString(hash[:]),
		"~" + escapeGlob(p.KeyPrefix) + "*", "&" + escapeGlob(p.KeyPrefix) + "*",
	}, p.Rules...)
	if err := c.ACLSetUser(ctx, p.User, rules...).Err(); err != nil {
		return fmt.Errorf("make account %s: %w", p.User, err)
	}
	return saveACL(ctx, c)
}

func dropUser(ctx context.Context, c *redis.Client, p parameters) error {
	if err := c.ACLDelUser(ctx, p.User).Err(); err != nil {
		return fmt.Errorf("remove account %s: %w", p.User, err)
	}
	return saveACL(ctx, c)
}

// saveACL writes the accounts to the server's ACL file, if it has one.
func saveACL(ctx context.Context, c *redis.Client) error {
	err := c.Do(ctx, "ACL", "SAVE").Err()
	if err != nil && !strings.Contains(err.Error(), "not configured") {
		return fmt.Errorf("save the server's ACL file: %w", err)
	}
	return nil
}

// dropKeys removes every key with the prefix and returns their number.
func dropKeys(ctx context.Context, c *redis.Client, prefix string) (int, error) {
	removed, cursor := 0, uint64(0)
	for {
		keys, next, err := c.Scan(ctx, cursor, escapeGlob(prefix)+"*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = c.Unlink(ctx, keys...).Err()
		}
		if err != nil {
			return removed, fmt.Errorf("remove keys %s*: %w", prefix, err)
		}
		removed += len(keys)
		if cursor = next; cursor == 0 {
			return removed, nil
		}
	}
}

// escapeGlob quotes what has a meaning in Redis's patterns.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// trySignIn signs in as the account, because create promises that its credentials work.
func trySignIn(ctx context.Context, p parameters, password string) error {
	own := newClient(p, p.User, password)
	defer hangUp(own)
	// Rules may forbid every command but this one's refusal still needs a
	// sign-in that worked.
	err := own.Ping(ctx).Err()
	if err != nil && !strings.HasPrefix(err.Error(), "NOPERM") {
		return fmt.Errorf("sign in as account %s: %w", p.User, err)
	}
	return nil
}
