package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

func TestSleep_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := wait.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("slept %s: %v", time.Since(began), err)
		}
		cause := errors.New("the program stops")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		began = time.Now()
		if err := wait.Sleep(ctx, time.Hour); !errors.Is(err, cause) ||
			time.Since(began) != time.Second {
			t.Errorf("slept %s: %v", time.Since(began), err)
		}
	})
}

func TestRetry_StopsAtTheFirstReason(t *testing.T) {
	t.Parallel()
	starting, refused := errors.New("starting"), errors.New("refused")
	for name, c := range map[string]struct {
		answers []error
		within  time.Duration
		want    error
		calls   int
		took    time.Duration
	}{
		"succeeds later":   {[]error{starting, starting, nil}, time.Minute, nil, 3, 2 * time.Second},
		"final":            {[]error{starting, refused, nil}, time.Minute, refused, 2, time.Second},
		"attempts used up": {[]error{starting, starting, nil}, 2 * time.Second, starting, 2, time.Second},
		"at least once":    {[]error{starting, nil}, 0, starting, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, calls, failed := time.Now(), 0, 0
				err := wait.Retry{Every: time.Second, For: c.within,
					IsFinal: func(err error) bool { return errors.Is(err, refused) },
					Failed:  func(int, int) { failed++ },
				}.Do(t.Context(), func() error { calls++; return c.answers[calls-1] })
				if !errors.Is(err, c.want) || calls != c.calls || failed != calls-1 ||
					time.Since(began) != c.took {
					t.Errorf("%v after %d attempts, %d reported, %s", err, calls, failed,
						time.Since(began))
				}
			})
		})
	}
}

func TestRetry_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		calls := 0
		err := wait.Retry{Every: time.Second, For: time.Hour}.Do(ctx, func() error {
			calls++
			return errors.Join(errors.New("starting"), ctx.Err())
		})
		if !errors.Is(err, context.DeadlineExceeded) || calls != 3 {
			t.Errorf("%v after %d attempts", err, calls)
		}
	})
}
