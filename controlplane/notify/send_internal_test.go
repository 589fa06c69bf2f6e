package notify

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// The vector was computed with another implementation: receivers have one of their own.
func TestSign_IsHMACOverTimeAndBody(t *testing.T) {
	t.Parallel()
	key := controlplane.NewPlain("whs_key")
	want := "v1=af49321d496cc33078c227798195f983e7a9c418638b9c2d7ff31b386b78ad1b"
	if got := Sign(key, "1700000000", `{"a":1}`); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{1,5}`)
		a := [3]string{rapid.String().Draw(t, "key"), digits.Draw(t, "time"),
			rapid.String().Draw(t, "body")}
		b := [3]string{rapid.String().Draw(t, "key"), digits.Draw(t, "time"),
			rapid.String().Draw(t, "body")}
		one := Sign(controlplane.NewPlain(a[0]), a[1], a[2])
		if other := Sign(controlplane.NewPlain(b[0]), b[1], b[2]); (one == other) != (a == b) &&
			strings.TrimRight(a[0], "\x00") != strings.TrimRight(b[0], "\x00") {
			t.Fatalf("%q and %q have the signatures %s and %s", a, b, one, other)
		}
	})
}

// Delays grow, never shrink, and the tries spread over about a day.
func TestRetryDelay_SpreadsTheTriesOverADay(t *testing.T) {
	t.Parallel()
	var total, last time.Duration
	for i := 1; i < maxAttempts; i++ {
		delay := retryDelay(i)
		if delay < last || delay > 3*time.Hour {
			t.Errorf("after try %d it waits %s, before that %s", i, delay, last)
		}
		total, last = total+delay, delay
	}
	if retryDelay(1) != 10*time.Second || total < 5*time.Hour || total > 26*time.Hour {
		t.Errorf("first after %s, %d tries over %s", retryDelay(1), maxAttempts, total)
	}
	for _, i := range []int{13, 60, 1000} {
		if retryDelay(i) != 3*time.Hour {
			t.Errorf("after try %d it waits %s", i, retryDelay(i))
		}
	}
}

// A receiver that was down gets the same message under the same id, signed anew.
func TestSendDue_RetriesTheSameMessageUntilItIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, func(w http.ResponseWriter, number int) {
		if number < 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	key := w.hook("ci", r.URL+"/"+secret).Made
	w.insertNotice("deployment.failed", first)
	w.run()
	headers, bodies := r.receivedRequests()
	// promise: U-01
	if len(bodies) != 3 || bodies[0] != bodies[1] || bodies[1] != bodies[2] ||
		!strings.Contains(bodies[0], `"reason":"Step api failed: port 8080 is taken."`) ||
		!strings.Contains(bodies[0], `"urls":["http://api.first.qa.localhost"]`) {
		t.Fatalf("received %q", bodies)
	}
	for i, h := range headers {
		at := h.Get("X-Nullops-Timestamp")
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil || time.Since(time.Unix(seconds, 0)) > time.Minute || key.IsEmpty() ||
			h.Get("X-Nullops-Signature") != Sign(key, at, bodies[i]) {
			t.Errorf("try %d is signed %q at %q", i, h.Get("X-Nullops-Signature"), at)
		}
		if h.Get("X-Nullops-Event") != "deployment.failed" ||
			h.Get("X-Nullops-Delivery") != headers[0].Get("X-Nullops-Delivery") {
			t.Errorf("try %d: %v", i, h)
		}
	}
	all := w.listDeliveries("ci")
	if len(all) != 1 || all[0].Status != controlplane.DeliverySent || all[0].Attempts != 3 ||
		all[0].Answer != 200 || all[0].Error != "" || all[0].EndedAt == nil {
		t.Errorf("the log is %+v", all)
	}
}

// What no try changes ends with the first, and the rest with the last. The address is a
// secret: it is in no error.
func TestSendDue_EndsWithTheReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := newReceiver(t, nil)
	answer := func(status int) string {
		return newReceiver(t, func(w http.ResponseWriter, _ int) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(status)
		}).URL
	}
	broken := newReceiver(t, func(w http.ResponseWriter, _ int) { panic(http.ErrAbortHandler) })
	for name, c := range map[string]struct {
		address  string
		attempts int
		answer   int
		says     string
	}{
		"down":       {answer(500), maxAttempts, 500, "it answered 500"},
		"redirects":  {answer(302), 1, 302, "not followed"},
		"gone":       {answer(410), 1, 410, "gone"},
		"closed":     {"http://127.0.0.1:1", maxAttempts, 0, "refused"},
		"off-limits": {"http://169.254.169.254", 1, 0, "will not be tried again"},
		"broken":     {broken.URL, maxAttempts, 0, "EOF"},
	} {
		w.hook(name, c.address+"/"+secret)
		w.execSQL("DELETE FROM notices; UPDATE webhooks SET active = name = '" + name + "'")
		w.insertNotice("deployment.failed", first)
		w.run()
		all := w.listDeliveries(name)
		if len(all) != 1 || all[0].Status != controlplane.DeliveryFailed ||
			all[0].Attempts != c.attempts || all[0].Answer != c.answer || all[0].EndedAt == nil ||
			!strings.Contains(all[0].Error, c.says) || strings.Contains(all[0].Error, secret) {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if _, bodies := elsewhere.receivedRequests(); len(bodies) != 0 {
		t.Error("a redirect was followed")
	}
}

// Any number of control planes share the work: each message is sent once.
func TestRunOnce_ReplicasSendEachMessageOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	w.hook("ci", r.URL)
	w.hook("chat", r.URL)
	const count = 40
	w.execSQL(fmt.Sprintf(`INSERT INTO notices (event, deployment_id)
		SELECT 'deployment.failed', 'ID30' FROM generate_series(1, %d)`, count))
	replicas := []*Notifier{w.Notifier, w.newReplica(), w.newReplica()}
	var running sync.WaitGroup
	for _, n := range replicas {
		running.Go(func() {
			later := time.Now().Add(time.Hour)
			if err := n.runOnce(t.Context(), &later); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	w.run()
	times := map[string]int{}
	headers, _ := r.receivedRequests()
	for _, h := range headers {
		times[h.Get("X-Nullops-Delivery")]++
	}
	if most := slices.Max(append(slices.Collect(maps.Values(times)), 0)); len(times) != 2*count ||
		most != 1 {
		t.Errorf("%d of %d messages came, one of them %d times", len(times), 2*count, most)
	}
}

// While one control plane sends, no other does. If it dies, its claim ends and another
// sends, and the lost try counts.
func TestSendDue_RespectsAClaimUntilItEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	w.hook("ci", r.URL)
	w.insertNotice("deployment.failed", first)
	if _, err := w.handOut(t.Context()); err != nil {
		t.Fatal(err)
	}
	runInTx(t, w.Store, func(tx *postgres.Tx) error {
		claimed, err := tx.Deliveries().Claim(t.Context(), holdFor, atOnce)
		if len(claimed) != 1 {
			t.Errorf("claimed %+v", claimed)
		}
		return err
	})
	if w.run(); w.listDeliveries("ci")[0].Status != controlplane.DeliveryWaiting {
		t.Error("another one's delivery was sent")
	}
	w.execSQL("UPDATE deliveries SET claimed_until = now() - interval '1 second'")
	w.run()
	if _, bodies := r.receivedRequests(); len(bodies) != 1 || w.listDeliveries("ci")[0].Attempts != 2 {
		t.Errorf("after the claim ended: %q, %+v", bodies, w.listDeliveries("ci"))
	}
	// Nor does a claim last for hours because the clock was set back by so much.
	w.execSQL(`UPDATE deliveries SET status = 'waiting', ended_at = NULL, due_at = now(),
		claimed_until = now() + interval '3 hours'`)
	w.run()
	if _, bodies := r.receivedRequests(); len(bodies) != 2 {
		t.Errorf("after the clock was set back: %q, %+v", bodies, w.listDeliveries("ci"))
	}
}

// A try that failed waits for its time.
func TestSendDue_WaitsBetweenTries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Pause = retryDelay })
	r := newReceiver(t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusBadGateway) })
	w.hook("ci", r.URL)
	w.insertNotice("deployment.failed", first)
	for want := 1; want <= 3; want++ {
		w.run()
		w.run()
		d := w.listDeliveries("ci")[0]
		left := time.Until(d.DueAt)
		if _, bodies := r.receivedRequests(); len(bodies) != want || left > retryDelay(want) ||
			left < retryDelay(want)/2-5*time.Second {
			t.Errorf("%d tries, the next in %s", len(bodies), left)
		}
		w.execSQL("UPDATE deliveries SET due_at = now()")
	}
}

// An admin who tests a webhook sees the result of one try, at once.
func TestTestAndRedeliver_TryOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, func(w http.ResponseWriter, number int) {
		if number == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	w.hook("ci", r.URL)
	w.hook("other", r.URL)
	d, err := w.SendTestMessage(t.Context(), root, "ci")
	if err != nil || d.Status != controlplane.DeliveryFailed || d.Attempts != 1 || d.Answer != 502 {
		t.Errorf("test: %+v %v", d, err)
	}
	w.run()
	again, err := w.Redeliver(t.Context(), root, "ci", d.ID)
	if err != nil || again.Status != controlplane.DeliverySent || again.ID == d.ID ||
		again.Body != d.Body {
		t.Errorf("redeliver: %+v %v", again, err)
	}
	if _, err = w.Redeliver(t.Context(), root, "other", d.ID); controlplane.KindOf(err) !=
		controlplane.NotFound {
		t.Errorf("another webhook's delivery: %v", err)
	}
	if _, bodies := r.receivedRequests(); len(bodies) != 2 || len(w.listDeliveries("ci")) != 2 {
		t.Errorf("%d tries, %d in the log", len(bodies), len(w.listDeliveries("ci")))
	}
}
