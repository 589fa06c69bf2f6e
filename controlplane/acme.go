package controlplane

import "time"

// Challenge is how an authority makes sure that a name is ours.
type Challenge string

// The challenges of RFC 8555 that are answered here.
const (
	// ChallengeHTTP asks the host itself on port 80.
	ChallengeHTTP Challenge = "http-01"
	// ChallengeDNS asks the name server; the only one for wildcards.
	ChallengeDNS Challenge = "dns-01"
)

// NameServer is how records are added to a name server for a challenge.
type NameServer string

// The ways to tell it.
const (
	// NameServerNone is for ChallengeHTTP.
	NameServerNone NameServer = ""
	// NameServerUpdate sends dynamic updates, RFC 2136, signed with a TSIG key.
	NameServerUpdate NameServer = "rfc2136"
	// NameServerWebhook posts {"fqdn","value"} to URL/present and URL/cleanup.
	NameServerWebhook NameServer = "webhook"
)

// ACME is how an environment orders certificates from an authority.
type ACME struct {
	Challenge Challenge
	// Directory is the authority's address, Email what it may write to.
	Directory string
	Email     string
	// Roots are PEM certificates to trust at a directory that the system's roots do not cover.
	Roots string
	DNS   NameServer
	// DNSServer is host:port, or the webhook's URL; DNSUser the TSIG key's name
	// or the webhook's user.
	DNSServer string
	DNSUser   string
	DNSSecret Sealed
	// EABKeyID and EABKey prove to an authority that asks for it whose customer
	// the account is for (RFC 8555, 7.3.4).
	EABKeyID string
	EABKey   Sealed
}

// ACMEZone is an environment that orders certificates.
type ACMEZone struct {
	Environment EnvironmentID
	Name        string
	Domain      string
	Challenge   Challenge
	// Directory is the authority's address.
	Directory string
}

// ACMEHost is an address in such an environment.
type ACMEHost struct {
	Environment EnvironmentID
	Deployment  string
	Host        string
}

// ACMECertificate is one that is ordered, or was. Without a Chain none was issued yet.
type ACMECertificate struct {
	ID          CertificateID
	Environment EnvironmentID
	// Subject is the name it is known by; Names are all it is for.
	Subject string
	Names   []string
	// Wanted is false for what serves until it ends and is not renewed.
	Wanted bool
	Chain  string
	Key    Sealed
	// FirstAt is when its authority gave the first one; nil is not yet.
	FirstAt *time.Time
	// Failures counts those in a row, Error is the text of the last one.
	Failures int
	Error    string
	TriedAt  *time.Time
	NextTry  time.Time
	CertificateFacts
}

// State is the certificate's state: waiting for the first certificate, valid, failing (an earlier
// certificate may still be served) or expired.
func (c ACMECertificate) State(now time.Time) string {
	switch {
	case c.Chain != "" && now.After(c.NotAfter):
		return "expired"
	case c.Error != "":
		return "failing"
	case c.Chain == "":
		return "waiting"
	default:
		return "valid"
	}
}

// ACMEAccount is ours at a directory.
type ACMEAccount struct {
	ID        string
	Directory string
	Email     string
	// EABKeyID is what it is bound by, if it is.
	EABKeyID string
	Location string
	Key      Sealed
}
