package keyring

import (
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// A location is a part of a value's encryption: what is moved to another row or column
// does not open. Never change one, or what is stored cannot be opened.

func keyCheckLocation(kid string) seal.Location {
	return seal.Location{Table: "key_check", Row: kid, Column: "sealed",
		Label: "the check of key " + kid}
}

func auditKeyLocation() seal.Location {
	return seal.Location{Table: "audit_head", Row: "one", Column: "sealed_key",
		Label: "the key of the audit log"}
}

func identityLocation() seal.Location {
	return seal.Location{Table: "identity", Row: "one", Column: "key",
		Label: "the control plane's identity"}
}

func secretLocation(s controlplane.Secret) seal.Location {
	return seal.Location{Table: "secrets", Row: string(s.ID), Column: "value", Version: s.Version,
		Label: "secret " + s.Name}
}

func passwordLocation(id controlplane.RegistryID) seal.Location {
	return seal.Location{Table: "registries", Row: string(id), Column: "password",
		Label: "the password of registry " + string(id)}
}

func runKeyLocation(run controlplane.RunID) seal.Location {
	return seal.Location{Table: "runs", Row: string(run), Column: "key_sealed",
		Label: "the key of run " + string(run)}
}

func runSecretLocation(run controlplane.RunID, name string) seal.Location {
	return seal.Location{Table: "run_secrets", Row: string(run) + "/" + name, Column: "sealed",
		Label: "secret " + name + " of run " + string(run)}
}

func generatedLocation(deployment controlplane.DeploymentID, name string) seal.Location {
	return seal.Location{
		Table: "deployment_secrets", Row: string(deployment) + "/" + name, Column: "sealed",
		Label: "generated secret " + name,
	}
}

func nodeKeyLocation(t controlplane.NodeToken) seal.Location {
	return seal.Location{
		Table: "node_tokens", Row: t.Kid + "/" + string(t.Node), Column: "verifier",
		Label: "the token of node " + string(t.Node),
	}
}

func sshLocation(id controlplane.NodeID) seal.Location {
	return seal.Location{Table: "node_ssh", Row: string(id), Column: "credential"}
}

func certificateLocation(id controlplane.CertificateID) seal.Location {
	return seal.Location{Table: "certificates", Row: string(id), Column: "key"}
}

func authorityLocation(id controlplane.CertificateID) seal.Location {
	return seal.Location{Table: "certificate_authority", Row: string(id), Column: "key"}
}

func acmeSecretLocation(id controlplane.EnvironmentID) seal.Location {
	return seal.Location{Table: "acme_settings", Row: string(id), Column: "dns_secret"}
}

func acmeBindingLocation(id controlplane.EnvironmentID) seal.Location {
	return seal.Location{Table: "acme_settings", Row: string(id), Column: "eab_key"}
}

func acmeAccountLocation(id string) seal.Location {
	return seal.Location{Table: "acme_accounts", Row: id, Column: "key"}
}

func acmeKeyLocation(id controlplane.CertificateID) seal.Location {
	return seal.Location{Table: "acme_certificates", Row: string(id), Column: "key"}
}

func webhookLocation(id string) seal.Location {
	return seal.Location{Table: "outward_secrets", Row: id, Column: "value"}
}

func seedLocation(id controlplane.FactorID) seal.Location {
	return seal.Location{Table: "second_factors", Row: string(id), Column: "seed"}
}

func verdictKeyLocation() seal.Location {
	return seal.Location{Table: "verdict_key", Row: "one", Column: "key",
		Label: "the key that signs verdicts"}
}

// locationOf is where a value belongs that a rotation seals anew.
func locationOf(v postgres.SealedValue) (seal.Location, error) {
	switch v.Place {
	case "secrets":
		return secretLocation(controlplane.Secret{
			ID: controlplane.SecretID(v.ID), Version: v.Version}), nil
	case "registries":
		return passwordLocation(controlplane.RegistryID(v.ID)), nil
	case "node_tokens":
		return nodeKeyLocation(controlplane.NodeToken{
			Kid: v.ID, Node: controlplane.NodeID(v.Part)}), nil
	case "identity":
		return identityLocation(), nil
	case "runs":
		return runKeyLocation(controlplane.RunID(v.ID)), nil
	case "deployment_secrets":
		return generatedLocation(controlplane.DeploymentID(v.ID), v.Part), nil
	case "run_secrets":
		return runSecretLocation(controlplane.RunID(v.ID), v.Part), nil
	case "audit_head":
		return auditKeyLocation(), nil
	case "node_ssh":
		return sshLocation(controlplane.NodeID(v.ID)), nil
	case "certificates":
		return certificateLocation(controlplane.CertificateID(v.ID)), nil
	case "certificate_authority":
		return authorityLocation(controlplane.CertificateID(v.ID)), nil
	case "outward_secrets":
		return webhookLocation(v.ID), nil
	case "acme_settings":
		if v.Part == "eab_key" {
			return acmeBindingLocation(controlplane.EnvironmentID(v.ID)), nil
		}
		return acmeSecretLocation(controlplane.EnvironmentID(v.ID)), nil
	case "acme_accounts":
		return acmeAccountLocation(v.ID), nil
	case "acme_certificates":
		return acmeKeyLocation(controlplane.CertificateID(v.ID)), nil
	case "second_factors":
		return seedLocation(controlplane.FactorID(v.ID)), nil
	case "verdict_key":
		return verdictKeyLocation(), nil
	default:
		return seal.Location{}, fmt.Errorf("sealed values of %s cannot be rotated", v.Place)
	}
}
