package receipts

// sharedPrefix begins the actions every slip understands alike (section 5); it is
// reserved for those on the list.
const sharedPrefix = "provared."

// kindOfAction is the kind of an action on the shared list of section 5, ""
// for every other: own names have no kind.
func kindOfAction(action string) string {
	switch action {
	case "provared.data.read", "provared.data.search", "provared.message.read",
		"provared.calendar.read", "provared.code.read", "provared.web.read":
		return "reads"
	case "provared.data.create", "provared.data.change", "provared.message.draft",
		"provared.calendar.change", "provared.access.remove", "provared.code.change",
		"provared.system.configure":
		return "changes"
	case "provared.data.delete":
		return "destroys"
	case "provared.data.export", "provared.message.send", "provared.post.publish",
		"provared.agent.instruct":
		return "sends"
	case "provared.booking.make", "provared.booking.cancel", "provared.order.place",
		"provared.order.cancel", "provared.terms.accept", "provared.form.submit",
		"provared.account.create":
		return "commits"
	case "provared.access.grant", "provared.key.create":
		return "grants"
	case "provared.code.run", "provared.code.release":
		return "runs"
	case "provared.account.sign-in":
		return "enters"
	}
	return ""
}

// isNever says whether a name may stand in never: a kind of action, or a rule of
// conduct, an instruction no check can prove kept.
func isNever(s string) bool {
	switch s {
	case "reads", "changes", "destroys", "sends", "commits", "grants", "runs", "enters",
		"impersonate", "bypass", "escalate", "conceal", "deceive", "harass", "disclose",
		"continue-after-stop":
		return true
	}
	return false
}
