package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// company is what the database is filled with, before people use it.
type company struct{ deployments, users, teams, projects, environments int }

func (l *lab) company() company {
	if l.small {
		return company{deployments: 300, users: 20, teams: 6, projects: 6, environments: 3}
	}
	return company{deployments: 10_000, users: 500, teams: 50, projects: 50, environments: 20}
}

// patternName is the one deployment that is really made; see seed.sql.
const patternName = "pattern"

// seedDatabase fills the database, once for all groups that need it.
func (l *lab) seedDatabase(ctx context.Context) error {
	if l.founded {
		return nil
	}
	d, _, err := l.deploy(ctx, "shop", patternName)
	if err != nil {
		return err
	}
	c := l.company()
	argv := []string{"psql", "--quiet", "--no-psqlrc", "-v", "pattern=" + patternName}
	for name, n := range map[string]int{"deployments": c.deployments, "users": c.users,
		"teams": c.teams, "projects": c.projects, "environments": c.environments} {
		argv = append(argv, "-v", fmt.Sprintf("%s=%d", name, n))
	}
	argv = append(argv, "-f", filepath.Join(l.root, "tools", "bench", "seed.sql"), l.databaseURL)
	if _, err := runCommand(ctx, nil, argv...); err != nil {
		return err
	}
	l.founded = true
	return l.remove(ctx, d.Id)
}

// seedToken is the API token that seed.sql stores the hash of.
func seedToken(user int) string {
	value := fmt.Sprintf("nop_seed%d_secret%d", user, user)
	sum := sha256.Sum256([]byte(value))
	return value + "_" + hex.EncodeToString(sum[:3])
}

// asker sends requests as programs do, over connections that stay open.
type asker struct {
	base string
	web  *http.Client
}

func newAsker(base string) *asker {
	t := &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096,
		DialContext: (&net.Dialer{Timeout: startWithin}).DialContext}
	return &asker{base: base, web: &http.Client{Transport: t, Timeout: startWithin}}
}

// get reads an answer to its end; what is not 200 is an error.
func (a *asker) get(ctx context.Context, token, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := a.web.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, body)
	}
	return body, err
}

// mostWaiting is how many requests may be open before a rate is given up.
const mostWaiting = 2000

// callAtRate starts a call so many times a second, whether or not earlier ones have ended, and
// returns how long each took from when it was due. A loop that waits for each answer would measure
// the slow ones least.
func callAtRate(
	ctx context.Context, perSecond int, lasts time.Duration, do func(ctx context.Context, i int) error,
) ([]time.Duration, error) {
	n := int(lasts.Seconds() * float64(perSecond))
	took, errs := make([]time.Duration, n), make([]error, n)
	var all sync.WaitGroup
	slots := make(chan struct{}, mostWaiting)
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		if err := wait.Sleep(ctx, time.Until(due)); err != nil {
			all.Wait()
			return nil, err
		}
		select {
		case slots <- struct{}{}:
		default:
			all.Wait()
			return nil, errors.Join(fmt.Errorf("%d requests wait for an answer", mostWaiting),
				firstError(errs))
		}
		all.Go(func() {
			errs[i] = do(ctx, i)
			took[i] = time.Since(due)
			<-slots
		})
	}
	all.Wait()
	return took, firstError(errs)
}

// firstError of many errors; they are mostly the same one.
func firstError(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

// computePercentile of durations, in milliseconds.
func computePercentile(took []time.Duration, p float64) float64 {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return toMilliseconds(sorted[min(len(sorted)-1, int(p*float64(len(sorted))))])
}
