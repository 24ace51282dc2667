package portal

import (
	"net/http"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// memberList is what the page of members shows.
type memberList struct {
	Members []*callwrightv1.Person
	Listed  listed
	Invites []*callwrightv1.Invite
	// Link and Invited are those of a new invite, this once.
	Link    string
	Invited *callwrightv1.Invite
	Problem string
	Email   string
	Role    string
	// Roles are those that the visitor may give.
	Roles []string
}

func (p *portal) membersPage(v *visit) error { return v.showMembers(http.StatusOK, memberList{}) }

func (v *visit) showMembers(status int, l memberList) error {
	got, err := v.p.people.ListMembers(v.ctx, &callwrightv1.ListMembersRequest{Offset: v.offset()})
	if err != nil {
		return err
	}
	page := v.page("Members")
	l.Members, l.Listed, l.Roles = got.GetMembers(), listing(got.GetPagination(), len(got.GetMembers())), roleNames
	if v.me.GetRole() != "owner" {
		l.Roles = roleNames[1:]
	}
	if page.owns() {
		limit := int32(200)
		open, err := v.p.people.ListInvites(v.ctx, &callwrightv1.ListInvitesRequest{Limit: &limit})
		if err != nil {
			return err
		}
		l.Invites = open.GetInvites()
	}
	return v.show(status, membersView(page, l))
}

// changes tells whether the page offers to change a member: owners are changed by owners.
func (l memberList) changes(p page, m *callwrightv1.Person) bool {
	return p.owns() && (m.GetRole() != "owner" || p.Me.GetRole() == "owner")
}

func (p *portal) inviteMember(v *visit) error {
	email, role := v.form("email"), v.form("role")
	got, err := p.people.InviteMember(v.ctx, &callwrightv1.InviteMemberRequest{Email: email, Role: role})
	if f, ok := refusal(err); err != nil && ok {
		return v.showMembers(f.Kind.HTTP(), memberList{Problem: sentence(f), Email: email, Role: role})
	}
	if err != nil {
		return err
	}
	return v.showMembers(http.StatusCreated, memberList{Invited: got.GetInvite(), Link: v.p.base(v.r) + "/invite#" + got.GetToken()})
}

// changed goes back to the list after a change of a member, or says why there was none.
func (v *visit) changed(err error, message string) error {
	if f, ok := refusal(err); err != nil && ok {
		return v.showMembers(f.Kind.HTTP(), memberList{Problem: sentence(f)})
	}
	if err != nil {
		return err
	}
	return v.done("/members", message)
}

func (p *portal) changeRole(v *visit) error {
	_, err := p.people.ChangeRole(v.ctx, &callwrightv1.ChangeRoleRequest{UserId: v.form("user_id"), Role: v.form("role")})
	return v.changed(err, "role-changed")
}

func (p *portal) removeMember(v *visit) error {
	id := v.form("user_id")
	_, err := p.people.RemoveMember(v.ctx, &callwrightv1.RemoveMemberRequest{UserId: id})
	if err == nil && id == v.me.GetId() {
		v.dropCookie(sessionCookie)
		return v.done("/sign-in", "left")
	}
	return v.changed(err, "member-removed")
}

func (p *portal) deleteInvite(v *visit) error {
	_, err := p.people.DeleteInvite(v.ctx, &callwrightv1.DeleteInviteRequest{Id: v.form("id")})
	return v.changed(err, "invite-deleted")
}
