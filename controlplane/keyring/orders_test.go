package keyring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/postgres"
)

// What orders of certificates need is sealed, is never shown, and still opens
// when the ring has changed: the name server's secret, the account's key, and the
// certificate's.
func TestRotateKeys_Orders(t *testing.T) {
	t.Parallel()
	first, both, second := rings(t)
	w := newWorldWith(t, first)
	ctx, task := t.Context(), access.System("certificates")
	w.shop(t)
	secret := controlplane.NewPlain(canary)
	binding := controlplane.NewPlain("Y3VzdG9tZXIta2V5LWN1c3RvbWVyLWtleQ")
	put := certificates.ACMEPut{Secret: &secret, Binding: &binding, ACME: controlplane.ACME{
		Challenge: controlplane.ChallengeDNS, Directory: "https://acme.invalid/directory",
		DNS: controlplane.NameServerWebhook, DNSServer: "https://hook.invalid", DNSUser: "u",
		EABKeyID: "customer"}}
	if err := w.PutACME(ctx, w.admin, "qa", put); err != nil {
		t.Fatal(err)
	}
	id := must(w.GetEnvironment(ctx, w.admin, "qa"))(t).ID
	chain, _ := selfSigned(t)
	key := must(certificates.NewACMEKey())(t)
	cert := controlplane.ACMECertificate{ID: controlplane.NewID[controlplane.CertificateID](),
		Environment: id, Subject: "*.example", Names: []string{"*.example"}, Chain: chain,
		NextTry: time.Now()}
	order := certificates.ACMEOrder{ACME: put.ACME,
		Account: &certificates.ACMEAccount{Location: "https://acme.invalid/1", Key: key}}
	for _, err := range []error{
		w.store.InTx(ctx, func(tx *postgres.Tx) error {
			return tx.SetWantedCertificates(ctx, []controlplane.ACMECertificate{cert}, time.Now())
		}),
		w.StoreOrderedCertificate(ctx, task, order, cert, key), w.StoreACMEAccount(ctx, task, order),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.use(both)
	if _, left, err := w.ring.RotateKeys(ctx, w.admin, ""); left != 0 || err != nil {
		t.Fatalf("%d left: %v", left, err)
	}
	w.use(second)
	opened, ok, err := w.OpenACME(ctx, task, id)
	if err != nil || !ok || opened.Secret.Reveal() != canary ||
		opened.Binding.Reveal() != binding.Reveal() || opened.Account == nil {
		t.Errorf("the order after the rotation: %v %v", ok, err)
	}
	served := must(w.OpenCertificates(ctx, task))(t)
	if len(served) != 1 || !strings.Contains(served[0].Key.Reveal(), "PRIVATE KEY") {
		t.Errorf("%d certificates after the rotation", len(served))
	}
}
