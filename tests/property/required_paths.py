"""The paths that every run of the random scripts must take."""

LEGAL = {
    "submitted": {"accept", "reject"},
    "sent": {"deliver", "read", "fail"},
    "delivered": {"deliver", "read"},
    "read": set(),
    "failed": set(),
    "dropped": set(),
}
VERBS = ["accept", "reject", "deliver", "read", "fail"]

REQUIRED_PATHS = {
    # every transition of §3, and those that the recipient's settings turn into others
    "submitted -accept-> sent",
    "submitted -reject-> failed",
    "submitted -accept-> failed (balance too low)",
    "sent -deliver-> delivered",
    "sent -deliver-> delivered (several devices)",
    "sent -read-> read",
    "sent -read-> delivered (no receipts)",
    "sent -fail-> failed",
    "sent -drop-> dropped",
    "delivered -deliver-> delivered (another device)",
    "delivered -read-> read",
    "delivered -read-> delivered (no receipts)",
    # every refusal that the scripts can ask for
    *(
        f"refused: {state}.{verb}"
        for state, legal in LEGAL.items()
        for verb in VERBS
        if state != "submitted" and verb not in legal
    ),
    "refused: expired conversation",
    "refused: origin type of another conversation",
    *(
        f"refused: bad argument of {verb}"
        for verb in ("send", "deliver", "fail", "top_up", "set_balance", "advance")
    ),
    # conversations
    "conversation expired",
    "grouping: first message",
    "grouping: into a pending conversation",
    "grouping: into a pending one whose messages all failed",
    "grouping: into a pending one whose messages are all gone",
    "grouping: into an open conversation",
    "grouping: a new conversation after an expired one",
    "grouping: one conversation, two recipients",
    "grouping: several to choose from",
    # money
    "charge at the estimate",
    "charge other",
    "charge of nothing",
    "a charge: sent while open",
    "a charge: sent while open and now expired",
    "a charge: sent while pending",
    "a charge: sent while pending and now expired",
    "no charge: sent while open",
    "no charge: sent while open and now expired",
    "no charge: sent while pending",
    "no charge: sent while pending and now expired",
    "top_up",
    "adjustment +",
    "adjustment -",
    "adjustment none",
    # time
    "several due moments in one move",
    *(f"moved to drop {micros:+d} us" for micros in (-1000, -1, 0, 1, 1000)),
    *(f"moved to expiry {micros:+d} us" for micros in (-1000, -1, 0, 1, 1000)),
    # other kinds of message, and events about none
    *(f"sent as {type_}" for type_ in ("text", "image", "template")),
    *(f"refused: writing by a person who is {why}" for why in ("offline", "blocked")),
    *(f"another event, its {what}" for what in ("key of its type", "key given", "id given")),
    # people: what they do by themselves, what is left alone, and what contradicts them
    *(
        f"by itself: {what}"
        for what in (
            "sent to nobody -> failed",
            "sent into an open chat -> read",
            "delivered into an open chat -> read",
            "delivered, and the chat is opened -> read",
            "the phone comes back -> delivered",
            "the phone comes back -> read",
        )
    ),
    "left alone: sent while blocked or withheld",
    "left alone: a scripted delivery, as the phone comes back",
    "left alone: scripted reading, as the chat is opened",
    *(
        f"refused: {verb} to a person who is {why}"
        for verb in ("deliver", "read")
        for why in ("offline", "blocked", "not registered", "withheld")
    ),
    *(
        f"refused: an open chat where there can't be one ({error})"
        for error in ("IllegalTransition", "ValueError")
    ),
    # scripts in time
    *(f"script: {verb}" for verb in ("deliver", "read", "fail")),
    "script: a second one for a message",
    "script: an illegal step",
    "script: an illegal step drops the rest",
    "script: cancelled",
    "script: none to cancel",
    # a reset
    "reset: with messages that wait, which are refused from then on",
}  # fmt: skip
