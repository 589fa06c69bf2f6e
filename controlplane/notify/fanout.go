package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// handOut turns notices into deliveries, both in one transaction.
func (n *Notifier) handOut(ctx context.Context) (taken int, err error) {
	err = n.Store.InTx(ctx, func(tx *postgres.Tx) error {
		notices, err := tx.Notifications().Take(ctx, 100)
		taken = len(notices)
		if err != nil || taken == 0 {
			return err
		}
		hooks, err := tx.Webhooks().ListActive(ctx)
		if err != nil {
			return err
		}
		choices, err := tx.Notifications().ListAllChoices(ctx)
		if err != nil {
			return err
		}
		for _, notice := range notices {
			if err := n.queueNotice(ctx, tx, notice, hooks, choices); err != nil {
				return err
			}
		}
		return nil
	})
	return taken, err
}

func (n *Notifier) queueNotice(ctx context.Context, tx *postgres.Tx, notice controlplane.Notice,
	hooks []controlplane.Webhook, choices []controlplane.NotificationChoice) error {
	m, err := n.readNotice(ctx, tx, notice)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil // it was deleted in the meantime, so there is nothing to notify about
	}
	if err != nil {
		return err
	}
	if err := n.tellCreator(ctx, tx, m, ""); err != nil {
		return err
	}
	if err := n.tellHolders(ctx, tx, m); err != nil {
		return err
	}
	for _, w := range hooks {
		if m.matchesFilter(w.Events, w.Project, w.Environment) {
			if err := queueWebhook(ctx, tx, w, m, time.Time{}); err != nil {
				return err
			}
		}
	}
	if n.Mail.Server == "" || m.Deployment == nil && m.Alert == nil && !m.concernsBudget() {
		return nil
	}
	return n.mailAll(ctx, tx, m, choices)
}

// mailAll queues at most one mail to each person for one event.
func (n *Notifier) mailAll(ctx context.Context, tx *postgres.Tx, m message,
	choices []controlplane.NotificationChoice) error {
	told := map[controlplane.UserID]bool{}
	for _, c := range choices {
		if told[c.User] || !m.matchesFilter(c.Events, c.Project, c.Environment) {
			continue
		}
		sees, err := m.seenBy(ctx, tx, c)
		if err != nil {
			return err
		}
		if !sees {
			continue
		}
		told[c.User] = true
		err = tx.Deliveries().Insert(ctx, controlplane.Delivery{
			ID: controlplane.NewID[controlplane.DeliveryID](), User: c.User, Email: c.Email,
			Event: m.Event, Subject: m.mailSubject(), Body: m.mailText()}, time.Time{})
		if err != nil {
			return err
		}
	}
	return nil
}

// seenBy asks with the person's grants of now: a choice is no grant.
func (m message) seenBy(
	ctx context.Context, tx *postgres.Tx, c controlplane.NotificationChoice,
) (bool, error) {
	u, err := tx.Users().ByID(ctx, c.User)
	if err != nil {
		return false, err
	}
	if c.Mine && (m.Deployment == nil || u.Name != m.Deployment.CreatedBy) {
		return false, nil
	}
	return m.maySee(ctx, tx, u.User)
}

// maySee reports whether a person may see the deployment that the message is about.
func (m message) maySee(
	ctx context.Context, tx *postgres.Tx, u controlplane.User,
) (bool, error) {
	if !u.Active {
		return false, nil
	}
	if m.concernsBudget() {
		return u.Role == controlplane.RoleAdmin, nil
	}
	grants, err := tx.Teams().ListGrants(ctx, u.ID)
	if err != nil {
		return false, err
	}
	if m.Alert != nil {
		return access.CheckAlert(access.User(u, grants), access.ReadDeployment,
			m.alertSubject()) == nil, nil
	}
	return access.Check(access.User(u, grants), access.ReadDeployment, access.Object{
		Project: m.project, Environment: m.environment, Restricted: m.restricted}) == nil, nil
}

func (m message) matchesFilter(events []string, project, environment string) bool {
	if !slices.Contains(events, m.Event) {
		return false
	}
	f := m.templateFields()
	return (project == "" || project == f["project"]) &&
		(environment == "" || environment == f["environment"])
}

func queueWebhook(ctx context.Context, tx *postgres.Tx, w controlplane.Webhook, m message,
	claimed time.Time) error {
	id := controlplane.NewID[controlplane.DeliveryID]()
	body, err := m.webhookBody(id, w)
	if err != nil {
		return err
	}
	return tx.Deliveries().Insert(ctx, controlplane.Delivery{ID: id, Webhook: w.ID, Event: m.Event,
		Body: body, Traceparent: m.trace}, claimed)
}

// readNotice loads the current state of a notice's subject.
func (n *Notifier) readNotice(
	ctx context.Context, tx *postgres.Tx, notice controlplane.Notice,
) (message, error) {
	m := message{Event: notice.Event, At: notice.At, RequestID: notice.RequestID}
	if err := json.Unmarshal(notice.Data, &m.Data); err != nil {
		return m, fmt.Errorf("read notice: %w", err)
	}
	if strings.HasPrefix(notice.Event, "alert.") {
		if err := m.readAlert(notice.Data); err != nil {
			return m, err
		}
	}
	if notice.Node != "" {
		found, err := tx.Nodes().ByID(ctx, notice.Node)
		if err != nil {
			return m, err
		}
		m.Node = &node{Name: found.Name, Environment: found.Environment,
			Status: string(found.Status)}
		return m, nil
	}
	if notice.Deployment == "" { // it is about the control plane, an environment or a person
		if path, ok := m.Data["link"].(string); ok {
			m.Data["link"] = n.URL + path
		}
		return m, nil
	}
	d, err := tx.Deployments().Get(ctx, notice.Deployment)
	if err != nil {
		return m, err
	}
	if _, m.trace, err = tx.Runs().LatestTrace(ctx, d.ID); err != nil {
		return m, err
	}
	hosts, err := tx.Hosts().ListOf(ctx, d.ID)
	if err != nil {
		return m, err
	}
	m.project, m.environment, m.restricted = d.ProjectID, d.EnvironmentID, d.Restricted
	m.Deployment = n.newDeployment(d, hosts[d.ID])
	setCondition(&m)
	return m, nil
}

// setCondition makes a message about a condition say that, whatever it is by now.
func setCondition(m *message) {
	condition, ok := map[string]controlplane.Condition{
		"deployment.degraded": controlplane.ConditionDegraded,
		"deployment.offline":  controlplane.ConditionOffline,
	}[m.Event]
	if !ok {
		return
	}
	m.Deployment.Status = string(condition)
	if reason, ok := m.Data["reason"].(string); ok {
		m.Deployment.Reason = controlplane.Sentence(reason)
	}
}

func (n *Notifier) newDeployment(d controlplane.Deployment, hosts []controlplane.Host) *deployment {
	out := &deployment{ID: string(d.ID), Name: d.Name, Project: d.Project,
		Environment: d.Environment, Status: string(d.Status), CreatedBy: d.CreatedBy,
		Link: n.URL + "/deployments/" + string(d.ID), URLs: n.Addresses(hosts), Versions: []version{}}
	for _, v := range d.Versions {
		out.Versions = append(out.Versions, version{Service: v.Service, Tag: v.Tag, Digest: v.Digest})
	}
	if d.Failure != nil {
		out.Reason = d.Failure.Sentence()
	}
	return out
}
