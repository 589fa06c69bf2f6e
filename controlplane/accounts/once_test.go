package accounts_test

import (
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// A request that nobody held on to for a minute was cut off: whoever sends it
// again gets it done. What comes late of the first changes nothing.
func TestOnce_FreesTheKeyOfWhatWasCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	use := accounts.KeyUse{Operation: "createThing", Key: "k", Request: [32]byte{1}}
	done := 0
	send := func(do func()) (*accounts.Answer, error) {
		return w.Once(t.Context(), w.admin, use, func() accounts.Answer {
			done++
			do()
			return accounts.Answer{Status: http.StatusCreated, Body: []byte{byte('0' + done)}}
		})
	}
	aged := func(age string) {
		pgtest.Exec(t, w.url, `UPDATE idempotency_keys SET created_at = now() - $1::interval`, age)
	}
	before, err := send(func() {
		aged("50 seconds")
		if _, err := send(func() {}); controlplane.CodeOf(err) != "idempotency_key_under_way" {
			t.Errorf("50 s without a sign of life: %v", err)
		}
		aged("61 seconds")
		if again, err := send(func() {}); err != nil || again != nil {
			t.Errorf("after a minute: %v %v", again, err)
		}
	})
	if err != nil || before != nil || done != 2 {
		t.Fatalf("done %d times, %v: %v", done, before, err)
	}
	// An answer stays for its day, however old its request is.
	aged("23 hours")
	if before, err = send(func() {}); err != nil || before == nil || string(before.Body) != "2" ||
		done != 2 {
		t.Errorf("asked once more: %v, done %d times: %v", before, done, err)
	}
}
