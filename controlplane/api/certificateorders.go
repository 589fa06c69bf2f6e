package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/certificates"
)

func (s *server) GetCertificateOrders(
	ctx context.Context, r GetCertificateOrdersRequestObject,
) (GetCertificateOrdersResponseObject, error) {
	o, err := s.certificateOrders(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return GetCertificateOrders200JSONResponse(o), nil
}

func (s *server) PutCertificateOrders(
	ctx context.Context, r PutCertificateOrdersRequestObject,
) (PutCertificateOrdersResponseObject, error) {
	b := r.Body
	p := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.Challenge(b.Challenge),
		Directory: b.Directory, Email: valueOr(b.Email, ""), Roots: valueOr(b.Roots, ""),
		DNS: controlplane.NameServer(valueOr(b.Dns, "")), DNSServer: valueOr(b.DnsServer, ""),
		DNSUser: valueOr(b.DnsUser, ""), EABKeyID: valueOr(b.EabKeyId, "")}}
	if b.DnsSecret != nil {
		secret := controlplane.NewPlain(*b.DnsSecret)
		p.Secret = &secret
	}
	if b.EabKey != nil {
		key := controlplane.NewPlain(*b.EabKey)
		p.Binding = &key
	}
	if err := s.Certificates.PutACME(ctx, actorOf(ctx), r.Name, p); err != nil {
		return nil, err
	}
	o, err := s.certificateOrders(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	return PutCertificateOrders200JSONResponse(o), nil
}

func (s *server) DeleteCertificateOrders(
	ctx context.Context, r DeleteCertificateOrdersRequestObject,
) (DeleteCertificateOrdersResponseObject, error) {
	if err := s.Certificates.DeleteACME(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteCertificateOrders204Response{}, nil
}

func (s *server) RetryCertificateOrders(
	ctx context.Context, r RetryCertificateOrdersRequestObject,
) (RetryCertificateOrdersResponseObject, error) {
	if err := s.Certificates.RetryACME(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return RetryCertificateOrders204Response{}, nil
}

func (s *server) certificateOrders(
	ctx context.Context, environment string,
) (out CertificateOrders, err error) {
	a, all, ok, err := s.Certificates.ACME(ctx, actorOf(ctx), environment)
	if err == nil && !ok && len(all) == 0 {
		err = controlplane.NewNotFoundError("certificate orders of environment", environment)
	}
	return CertificateOrders{Challenge: string(a.Challenge), Directory: a.Directory,
		Email: a.Email, Roots: a.Roots, Dns: string(a.DNS), DnsServer: a.DNSServer,
		DnsUser: a.DNSUser, DnsSecretSet: len(a.DNSSecret) > 0, EabKeyId: a.EABKeyID,
		EabKeySet:    len(a.EABKey) > 0,
		Certificates: convertAll(all, orderedCertificate)}, err
}

func orderedCertificate(c controlplane.ACMECertificate) OrderedCertificate {
	out := OrderedCertificate{Subject: c.Subject, Names: c.Names, Wanted: c.Wanted,
		State: c.State(time.Now()), Failures: c.Failures, NextTry: c.NextTry, TriedAt: c.TriedAt}
	if c.Error != "" {
		out.Error = &c.Error
	}
	if c.Chain != "" {
		out.Issuer, out.Fingerprint, out.NotAfter = &c.Issuer, &c.Fingerprint, &c.NotAfter
	}
	return out
}
