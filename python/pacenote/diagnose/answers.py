"""Evaluates rules on the evidence of a race, and ranks what they find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.diagnose.expression import Lookup, Unknown, evaluate, names_of
from pacenote.diagnose.facts import MOST_BESIDE, Evidence, Window
from pacenote.diagnose.figure_units import format_value
from pacenote.diagnose.rule import AdviceTemplate, OptionTemplate, Rule, Template
from pacenote.diagnose.time_shares import task_times
from pacenote.diagnose.window_answer import (
    WindowAnswer,
    answer_window,
    bound_of,
    evidence_items,
    lookup_of,
    metric_of,
    shown_figure,
)
from pacenote.model.diagnosis import Diagnosis, Expectation, MissingFigure, RuleAdvice, RuleAnswer

_DOUBTFUL = 0.5
"""What the confidence is multiplied with if the validity of the race is doubtful."""

_SMALL = 0.01
"""The largest improvement below which a finding comes last: races hardly show less."""

_MUCH_WARMUP = 0.2
"""Part of a task from which on its warm-up makes sampled figures doubtful."""

_EFFECTS = ("void", "throughput", "doubt", "note", "none")
"""The effects of validity rules, the strongest first."""


class _Validity(Struct, frozen=True):
    """What the validity rules found."""

    fired: Mapping[str, Mapping[str, Rule]] = field(default_factory=dict)
    """The rules that fired by task, and for the race under an empty name, by id."""

    def of(self, task: str) -> dict[str, Rule]:
        """Returns the rules that fired for a task or the race."""
        return {**self.fired.get("", {}), **self.fired.get(task, {})}


def diagnose(evidence: Evidence, rules: Sequence[Rule], compared: Sequence[str] = ()) -> Diagnosis:
    """Returns the diagnosis of a race; `compared` has the ids of the races that it is compared with."""
    by_window = {rule.id: _answer_all(rule, evidence) for rule in rules}
    validity = _Validity(_effects(by_window))
    by_window = {
        name: [_voided(window_answer, validity, evidence) for window_answer in window_answers]
        if rule.kind == "diagnosis"
        else window_answers
        for rule, (name, window_answers) in zip(rules, by_window.items(), strict=True)
    }
    titles = {rule.id: rule.title for rule in rules}
    fired = {
        name: titles[name] for name, window_answers in by_window.items() if _state(window_answers) == "fired"
    }
    maker = _AnswerMaker(evidence, validity, fired)
    answers = [maker.answer(rule, by_window[rule.id]) for rule in rules]
    diagnosing = [answer for rule, answer in zip(rules, answers, strict=True) if rule.kind == "diagnosis"]
    effects = {rule.id: rule.effect for rule in rules}
    judging = [answer for rule, answer in zip(rules, answers, strict=True) if rule.kind == "validity"]
    return Diagnosis(
        races=(evidence.race_id, *compared),
        verdict=evidence.verdict.state,
        reasons=evidence.verdict.reasons,
        unread=evidence.unread,
        validity=tuple(
            sorted(judging, key=lambda answer: (not answer.is_fired, _EFFECTS.index(effects[answer.id])))
        ),
        findings=tuple(sorted((answer for answer in diagnosing if answer.is_fired), key=_rank)),
        ruled_out=tuple(answer for answer in diagnosing if answer.state == "ruled out"),
        not_applicable=tuple(answer for answer in diagnosing if answer.state == "not applicable"),
        time=task_times(evidence),
    )


def _rank(answer: RuleAnswer) -> tuple[bool, int, float, bool]:
    """Returns the position of a finding: by its bound, weighed with its confidence; then those without one,
    and last those that can hardly bring anything. Those that a validity rule doubts follow all others.
    """
    worth = (answer.bound or 0.0) * answer.confidence
    group = 1 if answer.bound is None else 0 if answer.bound >= _SMALL else 2
    return answer.doubtful, group, -worth, not answer.severe


def _windows(rule: Rule, evidence: Evidence) -> Iterator[Window]:
    if rule.scope == "task":
        tasks = [task.name for task in evidence.tasks if rule.tasks in ("any", task.kind)]
    else:
        tasks = [""]
    nodes = evidence.nodes if rule.scope != "comparison" else ()
    for task in tasks:
        for node in nodes or ("",):
            yield Window(task, node)


def _answer_all(rule: Rule, evidence: Evidence) -> list[WindowAnswer]:
    answers = [answer_window(rule, evidence, window) for window in _windows(rule, evidence)]
    if answers:
        return answers
    does = {"indexing": "indexes", "searching": "searches"}.get(rule.tasks)
    text = f"no task {does}" if does and evidence.tasks else "no task was measured"
    return [WindowAnswer(rule, Window(), "not applicable", text)]


def _state(answers: Iterable[WindowAnswer]) -> str:
    states = {answer.state for answer in answers}
    return next(state for state in ("fired", "ruled out", "not applicable") if state in states)


def _effects(by_window: Mapping[str, Sequence[WindowAnswer]]) -> dict[str, dict[str, Rule]]:
    effects: dict[str, dict[str, Rule]] = {}
    for answers_of_rule in by_window.values():
        for answer in answers_of_rule:
            if answer.rule.kind == "validity" and answer.state == "fired":
                effects.setdefault(answer.window.task, {})[answer.rule.id] = answer.rule
    return effects


def _voided(answer: WindowAnswer, validity: _Validity, evidence: Evidence) -> WindowAnswer:
    """Returns an answer that is not applicable if the race is not valid for it."""
    if answer.state == "not applicable":
        return answer
    rule = answer.rule
    throughput = _metric(rule, answer.window.task, evidence).startswith("throughput")
    for name, cause in validity.of(answer.window.task).items():
        voids = cause.effect == "void" or (cause.effect == "throughput" and throughput)
        if voids and name not in rule.despite:
            text = f"{name} fired: {cause.title}"
            return replace(answer, state="not applicable", text=text, missing=(), bound=None)
    return answer


def _metric(rule: Rule, task: str, evidence: Evidence) -> str:
    metric = metric_of(rule, evidence, task)
    return f"{metric}:{task}" if task else metric


class _AnswerMaker(Struct, frozen=True):
    """Puts together what a rule says about all windows."""

    evidence: Evidence
    validity: _Validity
    fired: Mapping[str, str]
    """Titles of the rules that fired, by id."""

    def answer(self, rule: Rule, by_window: Sequence[WindowAnswer]) -> RuleAnswer:
        """Returns the answer of a rule."""
        state = _state(by_window)
        answers = [answer for answer in by_window if answer.state == state]
        if state == "fired":
            return self._fired(
                rule, sorted(answers, key=lambda answer: (-(answer.bound or 0.0), not answer.severe))
            )
        missing = [figure for answer in answers for figure in answer.missing]
        return RuleAnswer(
            id=rule.id,
            title=rule.title,
            state=answers[0].state,
            text=answers[0].text,
            missing=tuple(dict.fromkeys(missing)),
            source=rule.source,
        )

    def _fired(self, rule: Rule, by_window: Sequence[WindowAnswer]) -> RuleAnswer:
        worst = by_window[0]
        lookup = lookup_of(rule, self.evidence, worst.window)
        doubts = [
            f"{name} fired: {cause.title}"
            for name, cause in self.validity.of(worst.window.task).items()
            if cause.effect == "doubt" and rule.kind == "diagnosis" and name not in rule.despite
        ]
        doubtful = bool(doubts)
        doubts += self._blurred(rule, worst.window)
        confidence = rule.confidence * (_DOUBTFUL if doubts else 1.0)
        withheld, unchecked = self._withheld(rule, lookup)
        return RuleAnswer(
            id=rule.id,
            title=rule.title,
            state="fired",
            text=worst.text,
            tasks=tuple(dict.fromkeys(answer.window.task for answer in by_window if answer.window.task)),
            node=self._node(rule, worst.window),
            severe=any(answer.severe for answer in by_window),
            evidence=tuple(evidence_items(rule, self.evidence, worst.window)),
            missing=_bound_missing(rule, worst, self.evidence),
            bound=worst.bound,
            assumes=rule.bound.assumes if rule.bound and worst.bound is not None else "",
            excludes=rule.bound.excludes if rule.bound and worst.bound is not None else "",
            metric=_metric(rule, worst.window.task, self.evidence) if rule.kind == "diagnosis" else "",
            confidence=confidence,
            advice=() if withheld else tuple(_advice(rule.advice, lookup)),
            withheld=withheld,
            expected=tuple(
                Expectation(
                    mechanism.figure,
                    mechanism.direction,
                    shown_figure(mechanism.figure, self.evidence, worst.window),
                )
                for mechanism in rule.mechanism
            ),
            source=rule.source,
            doubts=(*doubts, *unchecked),
            doubtful=doubtful,
        )

    def _node(self, rule: Rule, window: Window) -> str:
        """Returns the node that shows what a rule found, of several nodes; an empty text if its figures are
        those of the whole cluster or host, which name a node themselves.
        """
        if len(self.evidence.all_nodes) < 2:
            return ""
        used = (*names_of(rule.evidence), *rule.needs, *rule.finding.names())
        return window.node if any(self.evidence.is_of_node(window, name) for name in used) else ""

    def _blurred(self, rule: Rule, window: Window) -> Iterator[str]:
        """Yields why the figures of engine and host are not only those of the measured task."""
        task = next((measured for measured in self.evidence.tasks if measured.name == window.task), None)
        if task is None or rule.kind != "diagnosis":
            return
        if task.beside:
            others = " and others" if len(task.beside) == MOST_BESIDE else ""
            names = ", ".join(task.beside) + others
            yield f"{task.name} ran together with {names}: figures of engine and host are of all of them"
        if task.warmup_share > _MUCH_WARMUP:
            share = format_value(task.warmup_share, "share")
            yield f"{share} of {task.name} was warm-up, which the sampled figures of engine and host include"

    def _withheld(self, rule: Rule, lookup: Lookup) -> tuple[tuple[str, ...], list[str]]:
        """Returns why the advice of a rule is withheld, and which cautions could not be checked."""
        withheld = [f"{name} fired: {self.fired[name]}" for name in rule.withheld_by if name in self.fired]
        unchecked = []
        for caution in rule.cautions:
            holds = evaluate(caution.when, lookup)
            if holds is True:
                withheld.append(caution.text.fill(lookup))
            elif isinstance(holds, Unknown):
                names = ", ".join(name for name, _ in holds.reasons)
                unchecked.append(f"not checked, because {names} is not known: {caution.when}")
        return tuple(withheld), unchecked


def _bound_missing(rule: Rule, answer: WindowAnswer, evidence: Evidence) -> tuple[MissingFigure, ...]:
    """Returns what prevents that the largest improvement is known."""
    value = bound_of(rule, evidence, answer.window) if answer.bound is None else None
    if not isinstance(value, Unknown):
        return ()
    return tuple(MissingFigure(name, reason) for name, reason in value.reasons)


def _advice(templates: Iterable[AdviceTemplate], lookup: Lookup) -> Iterator[RuleAdvice]:
    for template in templates:
        if template.when is None or evaluate(template.when, lookup) is True:
            options = {name: _filled(value, lookup) for name, value in template.options.items()}
            known = not any(isinstance(value, Unknown) for value in options.values())
            yield RuleAdvice(template.text.fill(lookup), options if known else {})


def _filled(value: OptionTemplate, lookup: Lookup) -> object:
    """Returns an option with its figures, or Unknown if one is missing."""
    if isinstance(value, Template):
        return value.unknown(lookup) or value.fill(lookup)
    if isinstance(value, Mapping):
        table = {name: _filled(item, lookup) for name, item in value.items()}
        return next((item for item in table.values() if isinstance(item, Unknown)), table)
    if isinstance(value, tuple):
        items = [_filled(item, lookup) for item in value]
        return next((item for item in items if isinstance(item, Unknown)), items)
    return value
