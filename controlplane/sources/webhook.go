package sources

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/review"
)

// HookPath is where events of code hosts are posted: below it, the name of the source.
const HookPath = "/hooks/sources/"

// maxEvent is the most that one event may bring: of it, only the signature counts.
const maxEvent = 5 << 20

// ServeHTTP takes events of code hosts. Any that is signed has the source looked at: what the
// branch is at is asked of the repository itself.
func (s *Sources) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "events are posted here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		http.Error(w, "the event is larger than 5 MiB, or ended early",
			http.StatusRequestEntityTooLarge)
		return
	}
	ctx, name := r.Context(), strings.TrimPrefix(r.URL.Path, HookPath)
	x, err := s.loadSource(ctx, name)
	known, err := controlplane.IsFound(err)
	var key controlplane.Plain
	if err == nil && known && x.Active && x.Webhook != "" {
		key, err = s.Keys.LoadWebhookSecret(ctx, worker, keyOf(x.ID))
	}
	switch {
	case err != nil:
	case !review.IsSigned(x.Webhook, r.Header, body, key, time.Now()):
		// The same whether or not there is such a source.
		http.Error(w, "the signature does not hold", http.StatusUnauthorized)
		return
	default:
		err = s.Store.InTx(ctx, func(tx *postgres.Tx) error {
			return tx.DefinitionSources().Wake(ctx, x.ID)
		})
	}
	if err != nil {
		s.Log.ErrorContext(ctx, "event was not taken", "source", name, "error", err)
		http.Error(w, "this failed on our side", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
