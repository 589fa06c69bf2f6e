package review

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

func viewOf(status controlplane.DeploymentStatus, age time.Duration) (v lifecycle.View) {
	v.Status, v.CreatedAt = status, time.Now().Add(-age)
	return v
}

// A review is as its deployment; one that takes too long counts as failed meanwhile.
func TestMirrorStatus_FollowsTheDeployment(t *testing.T) {
	t.Parallel()
	r := newReviews()
	const minute = time.Minute
	for _, c := range []struct {
		status       controlplane.DeploymentStatus
		age, giveUp  time.Duration
		want         controlplane.ReviewState
		detail, fail string
	}{
		{status: controlplane.Ready, want: controlplane.ReviewReady},
		{status: controlplane.Failed, want: controlplane.ReviewFailed, detail: "the deployment failed"},
		{status: controlplane.Failed, fail: "port is taken", want: controlplane.ReviewFailed,
			detail: "port is taken"},
		{status: controlplane.Stuck, want: controlplane.ReviewFailed, detail: "the deployment failed"},
		{status: controlplane.Queued, age: minute, giveUp: minute, want: controlplane.ReviewCreating,
			detail: "the deployment is being created"},
		{status: controlplane.Queued, age: 20 * time.Second, giveUp: -minute,
			want: controlplane.ReviewCreating, detail: "the deployment is being created"},
		{status: controlplane.Queued, age: minute, giveUp: -minute, want: controlplane.ReviewFailed,
			detail: "the deployment is not ready in time"},
		{status: controlplane.Applying, age: 59 * minute, giveUp: -minute,
			want: controlplane.ReviewCreating, detail: "the deployment is being created"},
		{status: controlplane.Applying, age: 61 * minute, giveUp: -minute,
			want: controlplane.ReviewFailed, detail: "the deployment is not ready in time"},
		{status: controlplane.Applying, age: 61 * minute, giveUp: minute,
			want: controlplane.ReviewCreating, detail: "the deployment is being created"},
	} {
		d := viewOf(c.status, c.age)
		if c.fail != "" {
			d.Failure = &controlplane.Failure{Message: c.fail}
		}
		x := controlplane.Review{GiveUpAt: time.Now().Add(c.giveUp), Detail: "before"}
		if r.mirrorStatus(&x, d); x.State != c.want || x.Detail != c.detail {
			t.Errorf("%s for %s, given up in %s: %s %q, want %s %q", c.status, c.age, c.giveUp, x.State,
				x.Detail, c.want, c.detail)
		}
	}
}

func TestDescribeDelay_SaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	d := viewOf(controlplane.Queued, 0)
	if got := describeDelay("late", d); got != "late" {
		t.Error(got)
	}
	d.Detail = "the node is away"
	if got := describeDelay("late", d); got != "late: the node is away" {
		t.Error(got)
	}
	d.Queue = &controlplane.QueueEntry{Reason: "no node has room " + strings.Repeat("é", 500)}
	if got := describeDelay("late", d); !strings.HasPrefix(got, "late: no node has room é") ||
		len(got) > 500 {
		t.Error(got)
	}
}

// Until the time is up everything is tried again; then the review fails with the reason.
// Details of an internal error are for the log.
func TestRetryLater_FailsWhenTheTimeIsUp(t *testing.T) {
	t.Parallel()
	r := newReviews()
	r.Log = slog.New(slog.DiscardHandler)
	said := &controlplane.Error{Kind: controlplane.Unavailable,
		Message: "no service has the tag pr-12"}
	for _, c := range []struct {
		state  controlplane.ReviewState
		done   int64
		giveUp time.Duration
		err    error
		want   controlplane.ReviewState
		detail string
	}{
		{controlplane.ReviewWaiting, 1, time.Minute, said, controlplane.ReviewWaiting, said.Message},
		{controlplane.ReviewWaiting, 1, -time.Second, said, controlplane.ReviewFailed, said.Message},
		{controlplane.ReviewWaiting, 1, -time.Second, errors.New("dial 10.0.0.1: refused"),
			controlplane.ReviewFailed, "this failed on our side; the log of the control plane says more"},
		{controlplane.ReviewReady, 2, -time.Second, said, controlplane.ReviewReady, "before"},
		{controlplane.ReviewReady, 1, -time.Second, said, controlplane.ReviewFailed, said.Message},
	} {
		x := controlplane.Review{State: c.state, Generation: 2, Done: c.done, Detail: "before",
			GiveUpAt: time.Now().Add(c.giveUp)}
		r.retryLater(t.Context(), &x, c.err)
		left := time.Until(x.DueAt)
		if x.State != c.want || x.Detail != c.detail || left < r.Ask-5*time.Second || left > r.Ask {
			t.Errorf("%+v: %s %q, next in %s", c, x.State, x.Detail, left)
		}
	}
}

// A build that changed nothing leaves the review ready with what runs, but only after
// the time in which a newer image may come.
func TestWaitForNewerImage_EndsWithWhatRuns(t *testing.T) {
	t.Parallel()
	r := newReviews()
	for _, c := range []struct {
		source controlplane.ReviewSource
		giveUp time.Duration
		status controlplane.DeploymentStatus
		want   controlplane.ReviewState
	}{
		{controlplane.ReviewGitHub, time.Minute, controlplane.Ready, controlplane.ReviewWaiting},
		{controlplane.ReviewGitHub, -time.Minute, controlplane.Ready, controlplane.ReviewReady},
		{controlplane.ReviewGitHub, -time.Minute, controlplane.Failed, controlplane.ReviewWaiting},
		{controlplane.ReviewRegistry, time.Minute, controlplane.Ready, controlplane.ReviewReady},
	} {
		x := controlplane.Review{Generation: 3, Tag: "pr-12", GiveUpAt: time.Now().Add(c.giveUp)}
		err := r.waitForNewerImage(controlplane.ReviewRule{Source: c.source}, &x, viewOf(c.status, 0))
		if err != nil || x.State != c.want || (x.Done == 3) != (c.want == controlplane.ReviewReady) {
			t.Errorf("%+v: %+v", c, x)
		}
	}
}
