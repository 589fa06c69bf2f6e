package review

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// Code hosts limit how often a token may ask. Who goes on asking is locked out for longer, so
// nothing is asked for a rule until the time is over that its host named.

// The bounds of what a code host may ask for.
const (
	shortestWait = time.Second
	// usualWait is GitHub's advice where no time is named.
	usualWait   = time.Minute
	longestWait = time.Hour
)

// rateLimitOf returns for how long a code host wants to be asked nothing; zero if the answer is not
// about that. GitHub answers with 403 too, and does not always name a time.
func rateLimitOf(resp *http.Response, answer []byte, now time.Time) time.Duration {
	spent := resp.Header.Get("X-Ratelimit-Remaining") == "0"
	after := resp.Header.Get("Retry-After")
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
	case http.StatusForbidden:
		words := bytes.Contains(bytes.ToLower(answer), []byte("rate limit"))
		if !spent && !words && after == "" {
			return 0
		}
	case http.StatusServiceUnavailable:
		if after == "" {
			return 0
		}
	default:
		return 0
	}
	wait := usualWait
	if seconds, err := strconv.Atoi(after); err == nil {
		wait = time.Duration(min(seconds, int(longestWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		wait = at.Sub(now)
	} else if at, err := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64); err == nil &&
		spent {
		wait = time.Unix(at, 0).Sub(now)
	}
	return min(max(wait, shortestWait), longestWait)
}

// rateLimits are until when nothing is asked for a rule.
type rateLimits struct {
	mu    sync.Mutex
	until map[controlplane.ReviewRuleID]time.Time
}

func (l *rateLimits) setWait(rule controlplane.ReviewRuleID, wait time.Duration) {
	if wait == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[controlplane.ReviewRuleID]time.Time{}
	}
	l.until[rule] = time.Now().Add(wait)
}

// waitFor returns how long nothing may be asked for a rule; zero if it may.
func (l *rateLimits) waitFor(rule controlplane.ReviewRuleID) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := time.Until(l.until[rule])
	if left <= 0 {
		delete(l.until, rule)
		return 0
	}
	return left
}

// postedParts are the parts of a result that a code host took while others of the same result still
// fail. They are forgotten with the process, which costs no more than sending one again.
type postedParts struct {
	mu   sync.Mutex
	news map[controlplane.ReviewID]map[string]string
}

// postOnce posts a part of a result unless the code host has it.
func (p *postedParts) postOnce(
	id controlplane.ReviewID, part, news string, post func() error,
) error {
	p.mu.Lock()
	has := p.news[id][part] == news
	p.mu.Unlock()
	if has {
		return nil
	}
	if err := post(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.news == nil {
		p.news = map[controlplane.ReviewID]map[string]string{}
	}
	if p.news[id] == nil {
		p.news[id] = map[string]string{}
	}
	p.news[id][part] = news
	return nil
}

func (p *postedParts) forgetReview(id controlplane.ReviewID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.news, id)
}
