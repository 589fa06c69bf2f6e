package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/certificates"
)

func (s *server) ListCertificates(
	ctx context.Context, _ ListCertificatesRequestObject,
) (ListCertificatesResponseObject, error) {
	all, err := s.Certificates.ListCertificates(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListCertificates200JSONResponse{Items: convertAll(all, toCertificate)}, nil
}

func (s *server) PutCertificate(
	ctx context.Context, r PutCertificateRequestObject,
) (PutCertificateResponseObject, error) {
	c, err := s.Certificates.PutCertificate(ctx, actorOf(ctx), certificates.Put{
		Name: r.Name, Chain: r.Body.Chain, Key: controlplane.NewPlain(valueOr(r.Body.Key, ""))})
	if err != nil {
		return nil, err
	}
	return PutCertificate200JSONResponse(toCertificate(c)), nil
}

func (s *server) DeleteCertificate(
	ctx context.Context, r DeleteCertificateRequestObject,
) (DeleteCertificateResponseObject, error) {
	if err := s.Certificates.DeleteCertificate(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteCertificate204Response{}, nil
}

func toCertificate(c controlplane.Certificate) Certificate {
	return Certificate{Name: c.Name, Hosts: c.Hosts, Issuer: c.Issuer, Serial: c.Serial,
		Fingerprint: c.Fingerprint, NotBefore: c.NotBefore, NotAfter: c.NotAfter,
		CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt}
}

func (s *server) GetCertificateAuthority(
	ctx context.Context, _ GetCertificateAuthorityRequestObject,
) (GetCertificateAuthorityResponseObject, error) {
	a, err := s.Certificates.Authority(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return GetCertificateAuthority200JSONResponse(toAuthority(a)), nil
}

func (s *server) CreateCertificateAuthority(
	ctx context.Context, _ CreateCertificateAuthorityRequestObject,
) (CreateCertificateAuthorityResponseObject, error) {
	a, err := s.Certificates.MakeAuthority(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return CreateCertificateAuthority201JSONResponse(toAuthority(a)), nil
}

func (s *server) DeleteCertificateAuthority(
	ctx context.Context, _ DeleteCertificateAuthorityRequestObject,
) (DeleteCertificateAuthorityResponseObject, error) {
	if err := s.Certificates.DeleteAuthority(ctx, actorOf(ctx)); err != nil {
		return nil, err
	}
	return DeleteCertificateAuthority204Response{}, nil
}

func toAuthority(a controlplane.Authority) CertificateAuthority {
	return CertificateAuthority{Subject: a.Subject, Fingerprint: a.Fingerprint,
		Certificate: a.Certificate, NotAfter: a.NotAfter, CreatedBy: a.CreatedBy,
		CreatedAt: a.CreatedAt}
}
