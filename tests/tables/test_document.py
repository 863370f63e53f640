from scripts.data_tables import PAGE, updated


def test_the_page_on_data_has_the_columns_as_they_are():
    assert updated(PAGE.read_text()) == PAGE.read_text(), "run `python -m scripts.data_tables`"
