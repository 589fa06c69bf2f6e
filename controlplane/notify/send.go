package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/internal/tracing"
)

// maxAttempts and pause spread the tries over about a day.
const maxAttempts = 12

func retryDelay(attempts int) time.Duration {
	return min(10*time.Second<<min(attempts-1, 12), 3*time.Hour)
}

// sender is who opens addresses.
var sender = access.System("notify")

// sendDue claims what is due and sends it, a few at a time.
func (n *Notifier) sendDue(ctx context.Context) (sent int, err error) {
	var due []controlplane.Delivery
	err = n.Store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		due, err = tx.Deliveries().Claim(ctx, holdFor, atOnce)
		return err
	})
	if err != nil {
		return 0, err
	}
	group, inner := errgroup.WithContext(ctx)
	for _, d := range due {
		group.Go(func() error {
			_, err := n.attemptDelivery(inner, d)
			return err
		})
	}
	return len(due), group.Wait()
}

// attemptDelivery sends one delivery and stores the result. What is refused is no
// error: it is in the log, for the admin.
func (n *Notifier) attemptDelivery(
	ctx context.Context, d controlplane.Delivery,
) (controlplane.Delivery, error) {
	began, channel := time.Now(), "webhook"
	if d.User != "" {
		channel = "mail"
	}
	answer, err := n.sendDelivery(ctx, d)
	n.Sent(ctx, channel, time.Since(began), err)
	d.Answer, d.Error, d.Status = answer, "", controlplane.DeliverySent
	if err != nil {
		d.Error = clipLong(err.Error())
		d.Status, d.DueAt = controlplane.DeliveryWaiting, time.Now().Add(n.Pause(d.Attempts))
		if d.Attempts >= maxAttempts || errors.Is(err, errFinal) {
			d.Status = controlplane.DeliveryFailed
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = n.Store.InTx(late, func(tx *postgres.Tx) error { return tx.Deliveries().End(late, d) })
	return d, err
}

// errFinal marks what no further try would change.
var errFinal = errors.New("this will not be tried again")

func (n *Notifier) sendDelivery(
	ctx context.Context,
	d controlplane.Delivery,
) (answer int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	defer controlplane.CatchPanic(ctx, n.Log, "a delivery", &err)
	if d.User != "" {
		return 0, n.Mail.sendMail(ctx, d)
	}
	address, key, err := n.openSecrets(ctx, d.Webhook)
	if err != nil {
		return 0, err
	}
	return n.postWebhook(ctx, d, address, key)
}

func (n *Notifier) openSecrets(
	ctx context.Context, id controlplane.WebhookID,
) (address, key controlplane.Plain, err error) {
	var sealed [2]controlplane.Sealed
	err = n.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if sealed[0], err = tx.OutwardSecrets().Get(ctx, addressOf(id)); err != nil {
			return err
		}
		sealed[1], err = tx.OutwardSecrets().Get(ctx, keyOf(id))
		return err
	})
	if err != nil {
		return address, key, err
	}
	if address, err = n.Vault.OpenWebhookSecret(sender, addressOf(id), sealed[0]); err != nil {
		return address, key, fmt.Errorf("its address cannot be opened: %w", err)
	}
	if sealed[1] != nil {
		key, err = n.Vault.OpenWebhookSecret(sender, keyOf(id), sealed[1])
	}
	return address, key, err
}

func (n *Notifier) postWebhook(
	ctx context.Context, d controlplane.Delivery, address, key controlplane.Plain,
) (status int, err error) {
	ctx, end := tracing.Span(tracing.WithParent(ctx, d.Traceparent), "webhook "+d.Event)
	defer func() { end(err) }()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address.Reveal(),
		strings.NewReader(d.Body))
	if err != nil {
		return 0, errors.New("its address is not one")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "NullOps")
	r.Header.Set("X-Nullops-Event", d.Event)
	r.Header.Set("X-Nullops-Delivery", string(d.ID))
	if parent := tracing.Traceparent(ctx); parent != "" {
		r.Header.Set("Traceparent", parent)
	}
	if !key.IsEmpty() {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		r.Header.Set("X-Nullops-Timestamp", at)
		r.Header.Set("X-Nullops-Signature", Sign(key, at, d.Body))
	}
	resp, err := n.client.Do(r)
	if err != nil {
		return 0, withoutAddress(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	if resp.StatusCode/100 == 2 {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, statusError(resp.StatusCode)
}

func statusError(status int) error {
	switch {
	case status/100 == 3:
		return fmt.Errorf("it answered %d and wants to lead elsewhere, which is not followed: %w",
			status, errFinal)
	case status == http.StatusGone:
		return fmt.Errorf("it answered %d, gone: %w", status, errFinal)
	default:
		return fmt.Errorf("it answered %d", status)
	}
}

// withoutAddress removes the address, which may be secret, from errors of net/http.
func withoutAddress(err error) error {
	if off, ok := errors.AsType[*controlplane.OffLimitsError](err); ok {
		return fmt.Errorf("%w: %w", off, errFinal)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return errors.New("it did not answer in time")
		}
		return u.Err
	}
	return err
}

// Sign is the signature of a webhook: HMAC-SHA-256 over the time and the body,
// so that neither can be changed, and an old message is known for one.
func Sign(key controlplane.Plain, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	_, _ = io.WriteString(mac, timestamp+"."+body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// clipLong bounds an error for the log of deliveries. PostgreSQL stores valid UTF-8 only, and an
// error may quote what a receiver sent.
func clipLong(s string) string { return text.Clip(strings.ToValidUTF8(s, "\uFFFD"), 500) }
