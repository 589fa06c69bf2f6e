package accounts_test

import (
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// A request that nobody held on to for a minute was cut off: sending it again does it. What comes
// late of the first changes nothing.
func TestOnce_FreesTheKeyOfWhatWasCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done := 0
	send := func(do func()) (*accounts.StoredResponse, error) {
		return w.RunOnce(t.Context(), w.admin, useOf(1), func() accounts.StoredResponse {
			done++
			do()
			return accounts.StoredResponse{Status: http.StatusCreated, Body: []byte{byte('0' + done)}}
		})
	}
	before, err := send(func() {
		w.backdateKeys(t, "50 seconds")
		if _, err := send(func() {}); controlplane.CodeOf(err) != "idempotency_key_under_way" {
			t.Errorf("50 s without a sign of life: %v", err)
		}
		w.backdateKeys(t, "61 seconds")
		if again, err := send(func() {}); err != nil || again != nil {
			t.Errorf("after a minute: %v %v", again, err)
		}
	})
	if err != nil || before != nil || done != 2 {
		t.Fatalf("done %d times, %v: %v", done, before, err)
	}
	// An answer stays for its day, however old its request is.
	w.backdateKeys(t, "23 hours")
	if before, err = send(func() {}); err != nil || before == nil || string(before.Body) != "2" ||
		done != 2 {
		t.Errorf("asked once more: %v, done %d times: %v", before, done, err)
	}
}

// A request that slept for over a minute and finds its key with another neither
// holds nor frees nor answers that one's; its own asker gets its answer.
func TestOnce_LeavesTheKeyToWhoTookIt(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusCreated, http.StatusConflict} {
		w := newWorld(t)
		woken, ended := make(chan struct{}), make(chan struct{})
		w.sendOnce(t, 1, func() accounts.StoredResponse {
			w.backdateKeys(t, "61 seconds")
			taken := make(chan struct{})
			go func() {
				defer close(ended)
				w.sendOnce(t, 2, func() accounts.StoredResponse {
					close(taken)
					<-woken
					return accounts.StoredResponse{Status: http.StatusCreated, Body: []byte("second")}
				})
			}()
			select {
			case <-taken:
			case <-ended:
			}
			w.holdsItsOwn(t)
			return accounts.StoredResponse{Status: status, Body: []byte("first")}
		})
		before, err := w.RunOnce(t.Context(), w.admin, useOf(2), failIfRun(t))
		if before != nil || controlplane.CodeOf(err) != "idempotency_key_under_way" {
			t.Errorf("the first woke with %d, the second is under way: %v %v", status, before, err)
		}
		close(woken)
		<-ended
		before, err = w.RunOnce(t.Context(), w.admin, useOf(2), failIfRun(t))
		if err != nil || before == nil || string(before.Body) != "second" {
			t.Errorf("the first woke with %d, the second is answered: %v %v", status, before, err)
		}
	}
}

// What was done is answered, also where that could not be kept: an error would
// have it done once more.
func TestOnce_AnswersWhatCouldNotBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sendOnce(t, 1, func() accounts.StoredResponse {
		pgtest.Exec(t, w.url, `ALTER TABLE idempotency_keys RENAME TO elsewhere`)
		return accounts.StoredResponse{Status: http.StatusCreated}
	})
}

func useOf(request byte) accounts.KeyUse {
	return accounts.KeyUse{Operation: "createThing", Key: "k", Request: [32]byte{request}}
}

// failIfRun returns a request that must not be executed again.
func failIfRun(t *testing.T) func() accounts.StoredResponse {
	t.Helper()
	return func() accounts.StoredResponse {
		t.Error("it was done again")
		return accounts.StoredResponse{Status: http.StatusCreated}
	}
}

// sendOnce sends a request that must be executed, and whose response is stored.
func (w *world) sendOnce(t *testing.T, request byte, do func() accounts.StoredResponse) {
	t.Helper()
	done := false
	before, err := w.RunOnce(t.Context(), w.admin, useOf(request), func() accounts.StoredResponse {
		done = true
		return do()
	})
	if !done || before != nil || err != nil {
		t.Errorf("request %d: done %v, %v %v", request, done, before, err)
	}
}

// backdateKeys makes all keys look as if they had been claimed that long ago.
func (w *world) backdateKeys(t *testing.T, age string) {
	t.Helper()
	pgtest.Exec(t, w.url, `UPDATE idempotency_keys SET created_at = now() - $1::interval`, age)
}

// holdsItsOwn holds the key with the claim it has, and cannot with another.
func (w *world) holdsItsOwn(t *testing.T) {
	t.Helper()
	use := postgres.KeyUse{User: w.admin.UserID(), Operation: "createThing", Key: "k"}
	has := pgtest.QueryValue[string](t, w.url, `SELECT claim::text FROM idempotency_keys`)
	for claim, want := range map[postgres.ClaimID]bool{
		controlplane.NewID[postgres.ClaimID](): false, postgres.ClaimID(has): true} {
		use.Claim = claim
		err := w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
			held, err := tx.IdempotencyKeys().ExtendClaim(t.Context(), use)
			if held != want {
				t.Errorf("the key's own claim: %v, held: %v", want, held)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
