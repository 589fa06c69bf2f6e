package nodes

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"strconv"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// enrolmentContext starts what a machine signs, so that the signature means nothing elsewhere.
const enrolmentContext = "nullops enrolment 1\n"

// Machine is what a machine with a provisioning token says about itself.
type Machine struct {
	Token controlplane.Plain
	// Certificate is the agent's, in DER; Signature proves that the agent has its key: it is over
	// "nullops enrolment 1", a line feed and the token.
	Certificate []byte
	Signature   []byte
	// Address is host:port under which the control plane reaches it. Without one it is the address
	// that the request came from, with Port. If Connect is "agent", the agent dials the control
	// plane, and there is no address.
	Connect controlplane.NodeConnect
	Address string
	Port    int
	// Inventory has its host name and hardware, as far as it knows them.
	Inventory controlplane.Inventory
	Build     string
}

// EnrolMachine makes a node of a machine that shows a provisioning token, and returns the node's
// own token. Only the machine's certificate is trusted as the node. A machine that asks again
// before anybody has met it, since it did not get the answer, gets the same node and a new token.
func (s *Nodes) EnrolMachine(
	ctx context.Context, actor access.Actor, m Machine,
) (out Enrolment, err error) {
	prefix, ok := provisioningPrefix(m.Token)
	if !ok {
		return out, provisioningRefusal()
	}
	entry := actor.NewAuditEntry("enrol node", "provisioning token "+prefix)
	err = s.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		hash, err := tx.ProvisioningTokens().FindHash(ctx, prefix)
		if err != nil {
			return err
		}
		// An unknown token is compared with nothing, which takes as long as a wrong one.
		known := make([]byte, sha256.Size)
		copy(known, hash)
		shown := hashProvisioning(m.Token)
		if subtle.ConstantTimeCompare(known, shown[:]) != 1 {
			return provisioningRefusal()
		}
		entry.Credential = "provisioning token " + prefix
		out, err = s.enrolProven(ctx, tx, prefix, actor.RemoteAddress(), m)
		if err == nil {
			entry.Object, entry.Detail = "node "+out.Node.Name, "provisioning token "+prefix
			entry.Environment = out.Node.EnvironmentID
		}
		return err
	})
	return out, err
}

// provisioningRefusal does not say whether there is a token with this prefix.
func provisioningRefusal() error {
	return &controlplane.Error{Kind: controlplane.Forbidden, Code: "provisioning_token_invalid",
		Field: "token", Message: "this is no valid provisioning token",
		Remedy: "Copy the token again, or ask an admin for a new one."}
}

// enrolProven enrols a machine that has shown a token which exists.
func (s *Nodes) enrolProven(
	ctx context.Context, tx *postgres.Tx, prefix, from string, m Machine,
) (out Enrolment, err error) {
	t, err := tx.ProvisioningTokens().Lock(ctx, prefix)
	if err != nil {
		return out, err
	}
	status := t.Status(s.now())
	if status != controlplane.ProvisioningActive && status != controlplane.ProvisioningUsedUp {
		return out, endedTokenError(status)
	}
	print, key, err := m.proveKey()
	if err != nil {
		return out, err
	}
	id, before, again, err := tx.ProvisioningTokens().FindEnrolled(ctx, key)
	if err != nil {
		return out, err
	}
	if m.Address == "" && m.Connect != controlplane.ConnectAgent {
		m.Address = net.JoinHostPort(from, strconv.Itoa(m.Port))
	}
	if again {
		return s.enrolAgain(ctx, tx, id, before == prefix, m)
	}
	if status == controlplane.ProvisioningUsedUp {
		return out, endedTokenError(status)
	}
	n, err := s.insertMachine(ctx, tx, t, print, m)
	if err != nil {
		return out, err
	}
	if err := tx.ProvisioningTokens().Use(ctx, prefix, n.ID, key, s.now()); err != nil {
		return out, err
	}
	return s.issueNodeToken(ctx, tx, n.ID)
}

// endedTokenError is for machines that have the right token, so it may say what happened to it.
func endedTokenError(status controlplane.ProvisioningTokenStatus) error {
	reasons := map[controlplane.ProvisioningTokenStatus]string{
		controlplane.ProvisioningRevoked: "was revoked",
		controlplane.ProvisioningExpired: "has expired",
		controlplane.ProvisioningUsedUp:  "has enrolled as many machines as it may",
	}
	return &controlplane.Error{Kind: controlplane.Forbidden,
		Code: "provisioning_token_" + string(status), Field: "token",
		Message: "this provisioning token " + reasons[status],
		Remedy:  "Ask an admin for a new one: nullops node token create."}
}

// proveKey checks that the machine has the key of its certificate, and returns what is pinned and
// what the key is known by.
func (m Machine) proveKey() (print controlplane.Thumbprint, key [32]byte, err error) {
	leaf, err := x509.ParseCertificate(m.Certificate)
	if err != nil {
		return "", key, unprovenError(err)
	}
	algorithm := x509.UnknownSignatureAlgorithm
	switch leaf.PublicKey.(type) {
	case *ecdsa.PublicKey:
		algorithm = x509.ECDSAWithSHA256
	case ed25519.PublicKey:
		algorithm = x509.PureEd25519
	}
	signed := []byte(enrolmentContext + m.Token.Reveal())
	if err := leaf.CheckSignature(algorithm, signed, m.Signature); err != nil {
		return "", key, unprovenError(err)
	}
	sum := sha256.Sum256(leaf.Raw)
	return controlplane.Thumbprint(hex.EncodeToString(sum[:])),
		sha256.Sum256(leaf.RawSubjectPublicKeyInfo), nil
}

func unprovenError(cause error) error {
	return &controlplane.Error{Kind: controlplane.Invalid, Code: "certificate_unproven",
		Field: "signature", Cause: cause,
		Message: "the machine did not prove that it has the key of its certificate",
		Remedy:  "Use an agent of this release; empty its data folder if the certificate is damaged."}
}

// enrolAgain answers a machine whose first answer was lost. A node that was met before has its
// token, so whoever asks for one then may be another machine with a copied folder.
func (s *Nodes) enrolAgain(ctx context.Context, tx *postgres.Tx, id controlplane.NodeID,
	sameToken bool, m Machine) (out Enrolment, err error) {
	n, err := tx.Nodes().ByID(ctx, id)
	if err != nil {
		return out, err
	}
	if !sameToken || n.Thumbprint != "" || !n.IsEnabled() || n.TokenKid == "" {
		return out, controlplane.NewConflictError("machine_enrolled",
			"this machine is node "+n.Name+" already",
			"Start the agent with a token of that node: nullops node rotate "+n.Name+
				". If this is another machine, empty its data folder.")
	}
	if n.Connect, n.Address, err = s.checkFreeWay(ctx, tx, m, n.Name); err != nil {
		return out, err
	}
	// The machine may have another address by now.
	if err := tx.Nodes().SetSettings(ctx, n); err != nil {
		return out, err
	}
	if err := revokeTokens(ctx, tx, n); err != nil {
		return out, err
	}
	return s.issueNodeToken(ctx, tx, id)
}

// insertMachine adds the node of a machine, whose certificate is the only one to be trusted.
func (s *Nodes) insertMachine(
	ctx context.Context, tx *postgres.Tx, t controlplane.ProvisioningToken,
	print controlplane.Thumbprint, m Machine,
) (n controlplane.Node, err error) {
	connect, address, err := s.checkFreeWay(ctx, tx, m, "")
	if err != nil {
		return n, err
	}
	name, err := chooseName(ctx, tx, t.NamePattern, m.Inventory.Hostname)
	if err != nil {
		return n, err
	}
	n, err = s.newNode(ctx, tx, Put{Name: name, Environment: t.Environment, Connect: connect,
		Address: address, Thumbprint: string(print), Settings: t.Settings, Template: t.Template})
	if err != nil {
		return n, err
	}
	if err := tx.Nodes().Insert(ctx, n); err != nil {
		return n, err
	}
	return n, tx.Nodes().SetInventory(ctx, n.ID, m.Build, m.Inventory)
}

// checkFreeWay decides how a machine is reached, and refuses an address at which another node is.
func (s *Nodes) checkFreeWay(
	ctx context.Context, tx *postgres.Tx, m Machine, own string,
) (controlplane.NodeConnect, string, error) {
	connect, address, err := s.checkWay(m.Connect, m.Address)
	if err != nil {
		if e, ok := errors.AsType[*controlplane.Error](err); ok && e.Field == "address" {
			e.Remedy = "Set agent.address (AGENT_ADDRESS) to the host:port under which the control " +
				"plane reaches the machine, or agent.connect (AGENT_CONNECT) if it cannot."
		}
		return "", "", err
	}
	if connect == controlplane.ConnectAgent {
		return connect, "", nil
	}
	other, err := tx.ProvisioningTokens().FindNodeAt(ctx, address)
	if err == nil && other != "" && other != own {
		err = &controlplane.Error{Kind: controlplane.Conflict, Code: "address_taken", Field: "address",
			Message: "another node is at " + address + " already",
			Remedy: "Set agent.address (AGENT_ADDRESS) to the host:port under which the control " +
				"plane reaches this machine, or remove the other node."}
	}
	return connect, address, err
}

// maxNameTries bounds the numbers behind the names of machines that call themselves alike.
const maxNameTries = 20000

// chooseName returns the first free name that the pattern makes.
func chooseName(ctx context.Context, tx *postgres.Tx, pattern, hostname string) (string, error) {
	if err := tx.ProvisioningTokens().LockNames(ctx); err != nil {
		return "", err
	}
	const batch = 500
	for first := 1; first < maxNameTries; first += batch {
		names := make([]string, batch)
		for i := range names {
			names[i] = controlplane.NodeNameFor(pattern, hostname, first+i)
		}
		taken, err := tx.ProvisioningTokens().ListTakenNames(ctx, names)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if !slices.Contains(taken, name) {
				return name, nil
			}
		}
	}
	return "", controlplane.NewConflictError("no_free_name",
		"every name that the pattern of this provisioning token makes is taken",
		"Create a token with another name pattern.")
}
