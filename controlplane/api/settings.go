package api

import (
	"context"
	"maps"
	"slices"

	"github.com/nullops/nullops/controlplane/access"
)

// GetSettings says how the installation is configured, without its secrets.
func (s *server) GetSettings(
	ctx context.Context, _ GetSettingsRequestObject,
) (GetSettingsResponseObject, error) {
	if err := access.Check(actorOf(ctx), access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	out := InstallationSettings{AuditDays: s.AuditDays, RemovedDays: s.RemovedDays}
	if p := s.OIDC; p != nil {
		out.SignOn = &SignOnSettings{Name: p.Name, Issuer: p.Issuer, Client: p.Client,
			Redirect: p.Redirect, Scopes: p.Scopes, Claim: p.Claim, Admins: ptrOrNil(p.Admins),
			Teams: []GroupTeam{}}
		for _, group := range slices.Sorted(maps.Keys(p.Teams)) {
			out.SignOn.Teams = append(out.SignOn.Teams, GroupTeam{Group: group, Team: p.Teams[group]})
		}
	}
	if m := s.Notify.Mail; m.Server != "" {
		out.Mail = &MailServer{Server: m.Server, From: m.From, Username: ptrOrNil(m.Username)}
	}
	return GetSettings200JSONResponse(out), nil
}

func (s *server) TestSignOn(
	ctx context.Context, _ TestSignOnRequestObject,
) (TestSignOnResponseObject, error) {
	problem, err := s.Accounts.TestProvider(ctx, actorOf(ctx), s.OIDC)
	if err != nil {
		return nil, err
	}
	return TestSignOn200JSONResponse{Ok: problem == "", Problem: ptrOrNil(problem)}, nil
}

func (s *server) TestMail(
	ctx context.Context, _ TestMailRequestObject,
) (TestMailResponseObject, error) {
	to, problem, err := s.Notify.SendTestMail(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return TestMail200JSONResponse{Ok: problem == "", Problem: ptrOrNil(problem), To: &to}, nil
}
