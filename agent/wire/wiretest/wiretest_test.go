package wiretest_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

func TestPair_CarriesBothFamilies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, agent := wiretest.NewSessionPair(t)
		if err := control.Send(t.Context(), wire.Ack{Seq: 7}); err != nil {
			t.Fatal(err)
		}
		if m, err := agent.Receive(t.Context()); err != nil || m != (wire.Ack{Seq: 7}) {
			t.Fatal(m, err)
		}
		if err := agent.Send(t.Context(), wire.TokenRefused{Kid: "k"}); err != nil {
			t.Fatal(err)
		}
		if m, err := control.Receive(t.Context()); err != nil ||
			m != (wire.TokenRefused{Kid: "k"}) {
			t.Fatal(m, err)
		}
	})
}

func TestAgent_FollowsItsScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{Session: echoCommands})
		session := agent.Open(t)
		if err := session.Send(t.Context(), wire.RefuseToken{Kid: "old"}); err != nil {
			t.Fatal(err)
		}
		m, err := session.Receive(t.Context())
		if err != nil || m != (wire.TokenRefused{Kid: "old"}) {
			t.Fatal(m, err)
		}
	})
}

func echoCommands(ctx context.Context, s *wire.AgentSession) error {
	m, err := s.Receive(ctx)
	if err != nil {
		return err
	}
	return s.Send(ctx, wire.TokenRefused{Kid: m.(wire.RefuseToken).Kid})
}
