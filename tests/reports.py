"""Reports with statements in them, that packs are tried on."""

from __future__ import annotations

__all__ = ["LEASES", "PROSE", "REPORT", "STATEMENTS"]

PROSE = (
    "Management expects that demand depends on the weather, as it did in the years before. Cash "
    "flow, revenue and inventory are discussed below, together with the risks that are seen. "
)
STATEMENTS = {
    "income": "CONSOLIDATED STATEMENTS OF INCOME\n(in millions)\n2020 2019 2018\n"
    "Net sales 91,204 88,110 84,007\nCost of sales 51,204 48,110 47,007\n"
    "Gross profit 40,000 40,000 37,000\nOperating income 12,400 11,900 11,100\n"
    "Interest expense 1,204 1,110 1,007\nProvision for income taxes 2,204 2,110 2,007\n"
    "Net income 9,204 8,110 7,007\nDiluted 3.21 3.01 2.87\n",
    "balance sheet": "CONSOLIDATED BALANCE SHEETS\n(in millions)\n2020 2019\n"
    "Cash and cash equivalents 4,312 4,118\nInventories 7,904 7,211\n"
    "Total current assets 21,405 19,872\nGoodwill 3,300 3,300\nTotal assets 80,441 77,008\n"
    "Accounts payable 8,804 8,119\nTotal current liabilities 18,204 17,090\n"
    "Long-term debt 30,512 31,400\nRetained earnings 21,004 19,772\n",
    "cash flow": "CONSOLIDATED STATEMENTS OF CASH FLOWS\n(in millions)\n2020 2019 2018\n"
    "Operating activities\nDepreciation and amortization 2,204 2,110 2,007\n"
    "Net cash provided by operating activities 11,204 10,110 9,007\nInvesting activities\n"
    "Purchases of property, plant and equipment 3,204 3,110 3,007\nFinancing activities\n"
    "Dividends paid 1,204 1,110 1,007\nRepurchases of common stock 904 810 707\n",
}
REPORT = "Alder Inc. Annual report\n\n" + "".join(
    PROSE * 30 + "\n\n" + statement + "\n" for statement in STATEMENTS.values()
)
"""A report with three statements, far from each other."""

LEASES = """\
name = "leases"
description = "Leases of offices."

[landmarks.rent]
name = "rent clause"
titles = ["base rent"]
items = ["monthly instalments", "late charge", "security deposit"]

[landmarks.end]
titles = ["termination"]
items = ["notice", "breach", "cure"]

[intents.rent]
names = ["rent clause"]
words = ["how much rent", "late fee"]

[intents.end]
words = ["cancel"]

[glossary]
"late fee" = ["late charge"]
landlord = ["lessor"]
"""
"""A pack of few words."""
