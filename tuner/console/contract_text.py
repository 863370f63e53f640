"""What a scrap contract says, in the reader's language: scrap so far, what is left, and what is not tried.

The word "safe" is not used: a contract is about scrap, not about people.
"""

from tuner.console.campaign_text import brief, contract_line, share_text
from tuner.console.language import Words
from tuner.wire.messages import CampaignView

_SOME = 0.05  # a smaller share of ground that cannot be reached is not worth a sentence


def contract_lines(words: Words, view: CampaignView) -> list[str]:
    """Everything a contract says now; nothing where there is none."""
    contract = view.contract
    if contract is None:
        return []
    lines = [contract_line(words, contract)]
    if contract.held:
        lines.append(words("contract.held"))
    if contract.known_ground:
        lines.append(words("contract.known_ground"))
    lines.append(words("contract.allowed", allowed=share_text(words, contract.allowed)))
    if contract.p_valid is not None and contract.low is not None:
        lines.append(
            words(
                "contract.next",
                valid=words.percent(contract.p_valid),
                confidence=words.percent(contract.confidence),
                low=words.percent(contract.low),
            )
        )
    if contract.base is not None:
        lines.append(words("contract.base", share=share_text(words, contract.base)))
    if contract.refused is not None and contract.refused_better is not None and contract.refused_risk is not None:
        lines.append(
            words(
                "contract.refused",
                setting=brief(words, view, contract.refused),
                better=words.percent(contract.refused_better),
                risk=words.percent(contract.refused_risk),
            )
        )
    if contract.unreached is not None and contract.unreached >= _SOME:
        lines.append(words("contract.unreached", share=words.percent(contract.unreached)))
    return lines
