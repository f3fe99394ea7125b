// SPDX-License-Identifier: Apache-2.0
// How tables fit a terminal.
#include "table.hpp"

namespace cli {

bool full_names = false;

namespace {

/// Characters are counted by the bytes that begin them.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }

}  // namespace

std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string shortened(std::string_view name, std::size_t room) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (begins_character(name[i])) starts.push_back(i);
  }
  if (starts.size() <= room || room < 4) return std::string(name);
  const std::size_t left = (room - 3) / 2, right = room - 3 - left;
  return std::string(name.substr(0, starts[left])) + "..." + std::string(name.substr(starts[starts.size() - right]));
}

std::string folded_text(std::string_view text, std::size_t width, std::size_t column) {
  std::string folded;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
    const bool has_column = column != 0 && line.size() > column && line[column] != ' ' && line[column - 1] == ' ';
    const std::size_t indent = has_column ? column : own + 2;
    for (std::size_t used = 0; used + shown_width(line) > width && indent + 8 < width; used = indent) {
      // At the last blank that has room; where there is none, within the word.
      const std::size_t front = used != 0 ? 0 : has_column ? column : own;
      std::size_t at = 0, blank = 0;
      for (std::size_t left = width - used; at < line.size(); ++at) {
        if (begins_character(line[at]) && left-- == 0) break;
        if (line[at] == ' ' && at > front) blank = at;
      }
      if (at < line.size() && line[at] == ' ') blank = at;
      if (blank != 0) at = blank;
      folded.append(line.substr(0, at)).append("\n").append(indent, ' ');
      line.remove_prefix(std::min(line.find_first_not_of(' ', at), line.size()));
    }
    folded += line;
    if (end != text.size()) folded += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folded;
}

void table::lay_out() {
  is_laid_out_ = true;
  gap_ = look_.gap;
  const std::size_t count = shown_.size();
  std::vector<std::size_t> widest(count);
  for (const held_row& row : held_) {
    for (std::size_t i = 0; i < count && i < row.size(); ++i) widest[i] = std::max(widest[i], shown_width(row[i].text));
  }
  layout_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    layout_[i].heading = shown_[i]->heading.empty() ? shown_[i]->key : shown_[i]->heading;
    layout_[i].width =
        full_names ? shown_[i]->width : std::max({shown_[i]->width, widest[i], layout_[i].heading.size()});
  }
  if (!full_names) fit(widest);
  put_heading();
  for (const held_row& row : std::exchange(held_, {})) put_row(row);
}

void table::fit(const std::vector<std::size_t>& widest) {
  const std::size_t count = shown_.size();
  // Of the names as they are, or of the least of them.
  const auto total = [&](bool with_names) {
    std::size_t sum = look_.indent.size(), columns = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!layout_[i].is_shown) continue;
      const std::size_t name = with_names ? layout_[i].width : std::min(layout_[i].width, least_name);
      sum += shown_[i]->is_name ? name : layout_[i].width;
      ++columns;
    }
    return sum + (columns == 0 ? 0 : columns - 1) * gap_.size();
  };
  const auto squeeze = [&](bool narrow) {
    for (std::size_t i = 0; i < count; ++i) {
      if (narrow && !shown_[i]->narrow.empty()) layout_[i].heading = shown_[i]->narrow;
      layout_[i].width = std::max(widest[i], layout_[i].heading.size());
    }
  };
  if (total(true) > room_) squeeze(false);
  if (total(true) > room_) squeeze(true);
  if (total(true) > room_ && gap_.size() > 1) gap_ = " ";
  while (total(false) > room_) {
    // Those without anything in them first.
    const auto rank = [&](std::size_t i) {
      return shown_[i]->spare == 0 ? 0 : shown_[i]->spare + (widest[i] == 0 ? 256 : 0);
    };
    std::size_t least = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (layout_[i].is_shown && rank(i) != 0 && (least == count || rank(i) > rank(least))) least = i;
    }
    if (least == count) break;
    layout_[least].is_shown = false;
    left_out_ += (left_out_.empty() ? "" : ", ") + shown_[least]->key;
  }
  if (total(true) > room_) share_room(total(false));
}

void table::share_room(std::size_t least) {
  std::vector<laid_out*> names;
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (layout_[i].is_shown && shown_[i]->is_name) names.push_back(&layout_[i]);
  }
  // What one of them does not need is for the others.
  std::ranges::sort(names, {}, &laid_out::width);
  std::size_t room = room_ > least ? room_ - least : 0;
  for (const laid_out* const one : names) room += std::min(one->width, least_name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i]->width = std::min(names[i]->width, room / (names.size() - i));
    room -= names[i]->width;
    names[i]->heading = shortened(names[i]->heading, names[i]->width);
  }
}

void table::put_heading() {
  held_row row;
  for (const laid_out& one : layout_) row.push_back({one.heading});
  if (to_.colored()) to_.control("\x1b[1m");
  put_row(row);
  if (to_.colored()) to_.control("\x1b[0m");
}

void table::put_row(const held_row& row) {
  std::size_t last = layout_.size();
  while (last != 0 && !layout_[last - 1].is_shown) --last;
  std::string_view before = look_.indent;
  for (std::size_t i = 0; i < last; ++i) {
    if (!layout_[i].is_shown) continue;
    to_.write(std::exchange(before, gap_));
    const std::size_t width = layout_[i].width;
    const bool cut = shown_[i]->is_name && !full_names;
    const std::string text = cut ? shortened(row[i].text, width) : row[i].text;
    const std::string padding(width - std::min(width, shown_width(text)), ' ');
    const bool is_left = shown_[i]->is_left || shown_[i]->width == 0;
    if (!is_left) to_.write(padding);
    if (row[i].color != nullptr) to_.control(row[i].color);
    to_.write(text);
    if (row[i].color != nullptr) to_.control("\x1b[0m");
    if (is_left && i + 1 < last) to_.write(padding);
  }
  to_.write("\n");
}

}  // namespace cli
