package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// pauseKey identifies a rate limit. Registries count requests per account, so other
// credentials at the same host are not affected.
type pauseKey struct{ host, credentials string }

// credentialsKey identifies credentials where they are compared. The password
// is hashed, so that no map and no dump of one holds it.
func credentialsKey(c controlplane.Credentials) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(c.Username)) + ":" + c.Username +
		c.Password.Reveal()))
	return hex.EncodeToString(sum[:])
}

// checkPaused fails while a registry rejects requests until a later time (429).
func (c *Client) checkPaused(host string, of controlplane.Credentials) error {
	key := pauseKey{host: strings.ToLower(host), credentials: credentialsKey(of)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := c.pauses[key].Sub(c.now()); wait > 0 {
		return tooBusy(host, wait)
	}
	return nil
}

// recordPause records until when a registry rejects requests (429).
func (c *Client) recordPause(host string, of controlplane.Credentials, wait time.Duration) {
	key := pauseKey{host: strings.ToLower(host), credentials: credentialsKey(of)}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	maps.DeleteFunc(c.pauses, func(_ pauseKey, until time.Time) bool { return !until.After(now) })
	evictSome(c.pauses)
	c.pauses[key] = now.Add(wait)
}

const (
	usualPause = 30 * time.Second
	// longestPause bounds what a registry may ask for.
	longestPause = time.Hour
)

// retryAfter reads seconds or a date, and believes at most an hour.
func retryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	wait := usualPause
	switch at, err := http.ParseTime(value); {
	case err == nil:
		wait = time.Until(at)
	case isDigits(value):
		wait = longestPause
		// More seconds than a number holds are more than the longest, too.
		if n, err := strconv.ParseInt(value, 10, 64); err == nil &&
			n < int64(longestPause/time.Second) {
			wait = time.Duration(n) * time.Second
		}
	}
	return min(max(wait, time.Second), longestPause)
}
