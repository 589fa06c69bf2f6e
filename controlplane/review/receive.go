package review

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// maxEvent is the most that one event may bring; GitHub's own limit is 25 MiB,
// and its pull requests are 30 KiB.
const maxEvent = 1 << 20

// oldest is how far the time of a signed generic event may be from ours.
const oldest = 5 * time.Minute

var (
	errUnsigned = errors.New("the signature does not hold")
	errForeign  = errors.New("the body is not an event that is known")
)

// ServeHTTP takes events at /hooks/RULE. It answers at once: what an event
// wants is fulfilled later.
func (r *Reviews) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "events are posted here", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxEvent))
	if err != nil {
		http.Error(w, "the event is larger than 1 MiB, or ended early",
			http.StatusRequestEntityTooLarge)
		return
	}
	name := strings.TrimPrefix(req.URL.Path, "/hooks/")
	said, err := r.Receive(req.Context(), access.System("hooks"), name, req.Header, body)
	switch {
	case errors.Is(err, errUnsigned):
		http.Error(w, errUnsigned.Error(), http.StatusUnauthorized)
	case errors.Is(err, errForeign):
		http.Error(w, errForeign.Error(), http.StatusBadRequest)
	case err != nil:
		r.Log.ErrorContext(req.Context(), "event was not taken", "rule", name, "error", err)
		http.Error(w, "this failed on our side", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(map[string]string{"result": said})
	}
}

// Receive checks one event and stores what it wants. It returns a short text about
// what was done.
func (r *Reviews) Receive(ctx context.Context, actor access.Actor, name string, h http.Header,
	body []byte) (said string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return "", err
	}
	rule, err := r.readRule(ctx, name)
	if err != nil {
		return "", err
	}
	key, err := r.Keys.LoadWebhookSecret(ctx, worker, keyOf(rule.ID))
	if err != nil {
		return "", err
	}
	if !rule.Active || !IsSigned(rule.Source, h, body, key, time.Now()) {
		return "", errUnsigned
	}
	events, err := readEvents(rule.Source, h, body)
	if err != nil {
		return "", err
	}
	// Each is stored for itself: a message that is sent again after a failure
	// finds what was stored before.
	said = "nothing to do"
	for _, e := range events {
		store := r.storeEvent
		if len(e.commands) > 0 {
			store = r.storeCommands
		}
		one, err := store(ctx, rule, e, deliveryOf(rule.Source, h, body, e))
		if err != nil {
			return "", err
		}
		if said != taken {
			said = one
		}
	}
	return said, nil
}

// taken is the response to a sender whose event changed what is wanted.
const taken = "taken"

// readRule hides whether a rule exists, since the sender is not authenticated yet.
func (r *Reviews) readRule(
	ctx context.Context, name string,
) (rule controlplane.ReviewRule, err error) {
	if controlplane.ValidName("name", name) != nil {
		return rule, errUnsigned
	}
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		rule, err = tx.ReviewRules().ByName(ctx, name)
		return err
	})
	if controlplane.KindOf(err) == controlplane.NotFound {
		return rule, errUnsigned
	}
	return rule, err
}

// IsSigned checks an event as its source signs: with an HMAC over the body where
// there is one, with the secret itself elsewhere.
func IsSigned(source controlplane.ReviewSource, h http.Header, body []byte,
	key controlplane.Plain, now time.Time) bool {
	if key.IsEmpty() {
		return false
	}
	switch source {
	case controlplane.ReviewGitHub:
		return equalConstantTime(h.Get("X-Hub-Signature-256"), "sha256="+hmacHex(key, body))
	case controlplane.ReviewBitbucket:
		return equalConstantTime(h.Get("X-Hub-Signature"), "sha256="+hmacHex(key, body))
	case controlplane.ReviewGitea:
		return equalConstantTime(h.Get("X-Gitea-Signature"), hmacHex(key, body))
	case controlplane.ReviewGitLab:
		return equalConstantTime(h.Get("X-Gitlab-Token"), key.Reveal())
	case controlplane.ReviewRegistry:
		return equalConstantTime(strings.TrimPrefix(h.Get("Authorization"), "Bearer "), key.Reveal())
	case controlplane.ReviewGeneric:
		at := h.Get("X-Nullops-Timestamp")
		seconds, err := strconv.ParseInt(at, 10, 64)
		age := now.Sub(time.Unix(seconds, 0))
		return err == nil && age.Abs() < oldest &&
			equalConstantTime(h.Get("X-Nullops-Signature"), "v1="+hmacHex(key, []byte(at+"."), body))
	default:
		return false
	}
}

func hmacHex(key controlplane.Plain, parts ...[]byte) string {
	m := hmac.New(sha256.New, []byte(key.Reveal()))
	for _, p := range parts {
		_, _ = m.Write(p)
	}
	return hex.EncodeToString(m.Sum(nil))
}

func equalConstantTime(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// storeEvent stores what an event wants, once.
func (r *Reviews) storeEvent(ctx context.Context, rule controlplane.ReviewRule, e event,
	d delivery) (said string, err error) {
	err = r.Store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := lockEvents(ctx, tx); err != nil {
			return err
		}
		old, known, err := findReview(ctx, tx, rule, &e)
		if err != nil {
			return err
		}
		if said, err = filterEvent(rule, e, old, known); err != nil || said != "" {
			return err
		}
		if !e.gone {
			e.outside = e.traits.reasonOutside(rule.Filter)
		}
		fresh, err := d.recordDelivery(ctx, tx, rule.ID)
		if err != nil || !fresh {
			said = "seen before"
			return err
		}
		said = e.reasonUnchanged(old, known)
		switch {
		case said == "":
			said = taken
			return putReview(ctx, tx, rule, e, old, known)
		case known && said != alreadyClosed:
			return tx.Reviews().Touch(ctx, old.ID, e.at)
		case !known && (!e.fork || rule.Forks):
			return rememberClosed(ctx, tx, rule, e)
		default:
			return nil
		}
	})
	return said, err
}

// lockEvents stores one event after another: each sees what the earlier ones made, and which
// names they chose.
func lockEvents(ctx context.Context, tx *postgres.Tx) error {
	return tx.LockObject(ctx, "review events")
}

// filterEvent says why a rule is not for an event; "" when it is. What a rule
// made is removed even if the rule was changed since.
func filterEvent(rule controlplane.ReviewRule, e event, old controlplane.Review,
	known bool) (string, error) {
	if e.gone && known {
		return "", nil
	}
	if e.fork && !e.gone && !rule.Forks {
		return "a fork", nil
	}
	// A repository that got another name is still the one that the rule meant.
	renamed := known && e.repositoryID != "" && old.RepositoryID == e.repositoryID
	if rule.Repository != "" && !renamed && !strings.EqualFold(rule.Repository, e.repository) {
		return "another repository", nil
	}
	if ok, err := pipeline.MatchTag(rule.Branch, e.branch); err != nil || !ok {
		return "another branch", err
	}
	return "", nil
}

// putReview stores what an event wants. A review keeps its key and its name.
func putReview(ctx context.Context, tx *postgres.Tx, rule controlplane.ReviewRule, e event,
	old controlplane.Review, known bool) (err error) {
	x := e.newReview(rule)
	if known {
		x.Key, x.Deployment = old.Key, old.Deployment
		if x.RepositoryID == "" {
			x.RepositoryID = old.RepositoryID
		}
	} else if x.Deployment, err = chooseName(ctx, tx, rule, e); err != nil {
		return err
	}
	return tx.Reviews().Put(ctx, x)
}
