// Package reach lets people into services: commands and terminals, connections
// to ports, files in and out. All of it takes full access.
//
// The API issues a ticket, bound to the person, their session or token and one service. The process
// that serves the connection takes the ticket in the first frame, once and within half a minute,
// and authenticates the person again. So no token of a person is ever in a URL, and what holds a
// connection need not know how people sign in.
//
// The audit records who was connected, from when to when, and which program they started, but not
// what they typed or copied.
package reach

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"path"
	"strconv"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

const (
	// ticketLasts is time enough to open a connection.
	ticketLasts = 30 * time.Second
	// MaxFile is the largest file that can be copied: larger ones belong into an
	// image or a volume.
	MaxFile = 256 << 20
	// auditWithin is for noting an end whose connection is gone.
	auditWithin = 5 * time.Second
)

var errNoHalfClose = errors.New("the connection to the service cannot be closed one way")

// Nodes opens connections to services through their nodes' agents.
type Nodes interface {
	// Inside connects to the sidecar's inside role in a service.
	OpenInside(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		step pipeline.StepKey) (net.Conn, error)
	// Forward connects to a port that the service declares.
	OpenForward(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		step pipeline.StepKey, port int) (net.Conn, error)
}

// Reach issues tickets and opens connections.
type Reach struct {
	store *postgres.Store
	nodes Nodes
}

// New makes it.
func New(store *postgres.Store, nodes Nodes) *Reach { return &Reach{store: store, nodes: nodes} }

// ConnectionRequest is which connection a person wants.
type ConnectionRequest struct {
	Deployment controlplane.DeploymentID
	Step       pipeline.StepKey
	Kind       controlplane.ReachKind
	Port       int
}

// IssueTicket issues a ticket, if the person may access the service now.
func (r *Reach) IssueTicket(
	ctx context.Context, actor access.Actor, w ConnectionRequest,
) (secret controlplane.Plain, expires time.Time, err error) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: the process dies instead
	text := base64.RawURLEncoding.EncodeToString(random[:])
	err = r.store.InTx(ctx, func(tx *postgres.Tx) error {
		if _, err := checkAccess(ctx, tx, actor, w); err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		expires = now.Add(ticketLasts)
		return tx.ReachTickets().Put(ctx, controlplane.ReachTicket{Digest: hashTicket(text),
			User: actor.UserID(), Credential: actor.Credential(), Deployment: w.Deployment, Step: w.Step,
			Kind: w.Kind, Port: w.Port, ExpiresAt: expires})
	})
	if err != nil {
		return controlplane.NewPlain(""), expires, r.recordDenied(ctx, actor, w, err)
	}
	return controlplane.NewPlain(text), expires, nil
}

// recordDenied records a refused attempt in the audit.
func (r *Reach) recordDenied(
	ctx context.Context, actor access.Actor, w ConnectionRequest, why error,
) error {
	e := actor.NewAuditEntry("open "+string(w.Kind),
		"service "+string(w.Step)+" of deployment "+string(w.Deployment))
	return errors.Join(why, r.store.RecordRefusal(ctx, *e, why))
}

func hashTicket(ticket string) []byte {
	sum := sha256.Sum256([]byte(ticket))
	return sum[:]
}

// checkAccess checks everything that can be known without asking the node.
func checkAccess(ctx context.Context, tx *postgres.Tx, actor access.Actor, w ConnectionRequest,
) (controlplane.Deployment, error) {
	d, err := tx.Deployments().Get(ctx, w.Deployment)
	if err != nil {
		return d, err
	}
	err = access.Check(actor, access.WriteDeployment, access.Object{What: "deployment",
		Name: string(d.ID), Project: d.ProjectID, Environment: d.EnvironmentID,
		Restricted: d.Restricted})
	if err != nil {
		return d, err
	}
	if actor.UserID() == "" {
		return d, &controlplane.Error{Kind: controlplane.Forbidden, Code: "no_person",
			Message: "only a person gets into a service"}
	}
	service, ok := serviceOf(d, w.Step)
	switch {
	case !ok:
		return d, controlplane.NewNotFoundError("service", string(w.Step))
	case w.Kind == controlplane.ReachForward && !declaresPort(service, w.Port):
		return d, &controlplane.Error{Kind: controlplane.NotFound, Code: "no_port", Field: "port",
			Message: "the service declares no port " + strconv.Itoa(w.Port),
			Remedy:  "Use a port that the pipeline's service lists."}
	case d.Status.IsGone(): // permanently: nobody has to try again
		return d, &controlplane.Error{Kind: controlplane.Conflict, Code: "not_running",
			Message: "the deployment is " + string(d.Status) + ": nothing of it runs",
			Remedy:  "Create it again with 'nullops recreate " + string(d.ID) + "'."}
	case d.NodeID == "":
		return d, &controlplane.Error{Kind: controlplane.Unavailable, Code: "not_running",
			Message: "the deployment is " + string(d.Status) + ": nothing of it runs"}
	}
	return d, nil
}

func serviceOf(
	d controlplane.Deployment, step pipeline.StepKey,
) (controlplane.ServiceVersion, bool) {
	for _, v := range d.Versions {
		if v.Step == step {
			return v, true
		}
	}
	return controlplane.ServiceVersion{}, false
}

func declaresPort(v controlplane.ServiceVersion, port int) bool {
	for _, p := range v.Ports {
		if p.Port == port {
			return true
		}
	}
	return false
}

// OpenConnection is one open connection into a service.
type OpenConnection struct {
	net.Conn
	ConnectionRequest
	reach *Reach
	actor access.Actor
	entry controlplane.AuditEntry
	began time.Time
}

// Redeem consumes a ticket and opens its connection. The same person, with the same
// session or token, must redeem it, and must still have access.
func (r *Reach) Redeem(
	ctx context.Context, actor access.Actor, ticket controlplane.Plain, program string,
) (*OpenConnection, error) {
	var t controlplane.ReachTicket
	err := r.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		t, err = tx.ReachTickets().Take(ctx, hashTicket(ticket.Reveal()))
		return err
	})
	if controlplane.KindOf(err) == controlplane.NotFound ||
		err == nil && (t.User != actor.UserID() || t.Credential != actor.Credential()) {
		return nil, &controlplane.Error{Kind: controlplane.Forbidden, Code: "ticket_invalid",
			Message: "the ticket is used, too old, or somebody else's", Remedy: "Ask for a new one."}
	}
	if err != nil {
		return nil, err
	}
	return r.openVisit(
		ctx,
		actor,
		ConnectionRequest{Deployment: t.Deployment, Step: t.Step, Kind: t.Kind,
			Port: t.Port},
		program,
	)
}

// openVisit connects and writes down that it did.
func (r *Reach) openVisit(
	ctx context.Context, actor access.Actor, w ConnectionRequest, program string,
) (*OpenConnection, error) {
	var d controlplane.Deployment
	err := r.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		d, err = checkAccess(ctx, tx, actor, w)
		return err
	})
	if err != nil {
		return nil, r.recordDenied(ctx, actor, w, err)
	}
	v := &OpenConnection{ConnectionRequest: w, reach: r, actor: actor, began: time.Now()}
	if w.Kind == controlplane.ReachForward {
		v.Conn, err = r.nodes.OpenForward(ctx, d.NodeID, d.ID, w.Step, w.Port)
	} else {
		v.Conn, err = r.nodes.OpenInside(ctx, d.NodeID, d.ID, w.Step)
	}
	if err != nil {
		return nil, err
	}
	what := map[controlplane.ReachKind]string{controlplane.ReachTerminal: "terminal",
		controlplane.ReachForward: "forward to port " + strconv.Itoa(w.Port)}[w.Kind]
	v.entry = *actor.NewAuditEntry("open "+string(w.Kind),
		"service "+string(w.Step)+" of deployment "+d.Name)
	v.entry.Project, v.entry.Environment = d.ProjectID, d.EnvironmentID
	v.entry.Result, v.entry.Detail = controlplane.AuditOK, what
	if program != "" {
		// Only the program's name: arguments may hold anything.
		v.entry.Detail += ", " + path.Base(program)
	}
	if err := r.insertAudit(ctx, v.entry); err != nil {
		_ = v.Conn.Close()
		return nil, err
	}
	return v, nil
}

func (r *Reach) insertAudit(ctx context.Context, e controlplane.AuditEntry) error {
	return r.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Audit().Insert(ctx, e) })
}

// CloseWrite ends what is sent to the service. Many protocols answer only then.
func (v *OpenConnection) CloseWrite() error {
	half, ok := v.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errNoHalfClose
	}
	return half.CloseWrite()
}

// CloseWithReason closes the connection and writes down that it ended, and why.
func (v *OpenConnection) CloseWithReason(why string) error {
	closed := v.Conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), auditWithin)
	defer cancel()
	e := v.entry
	e.Action = "close " + string(v.Kind)
	e.Detail = why + ", after " + quantity.FormatDuration(time.Since(v.began).Round(time.Second))
	if err := v.reach.insertAudit(ctx, e); err != nil {
		return err
	}
	return closed
}

// IsStillAllowed is nil as long as the person may be in the service.
func (r *Reach) IsStillAllowed(ctx context.Context, actor access.Actor, w ConnectionRequest) error {
	return r.store.Read(ctx, func(tx *postgres.Tx) error {
		_, err := checkAccess(ctx, tx, actor, w)
		return err
	})
}
