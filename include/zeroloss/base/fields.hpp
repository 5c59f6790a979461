#pragma once
#include <concepts>
#include <type_traits>

/// One list of fields for everything that has to name them all. Beside each struct S of options or results
/// stands
///
///     template <Is<S> T, class Visitor>
///     void fields(T& s, const Visitor& visit) {
///       visit(Field{"width", "Hidden units of each output, >= 1"}.under("Network"), s.width);
///       ..
///     }
///
/// and JSON, manifests, checkpoints, tables, the command's options and Python's properties are made from it:
/// a new field is one line more. A struct inside another either is a field of its own or adds its fields to
/// those around it.
namespace zeroloss {

/// What there is to know of a field besides its value.
struct Field {
  const char* name;           ///< of the member, of Python's property and, with - for _, of the flag
  const char* help = "";      ///< one line; other options in it as advised() has them
  const char* heading = "";   ///< of options: where --help lists it
  const char* choices = "";   ///< of options: "auto|weights|gram" where these are all
  const char* takes = "";     ///< of options: what --help calls a value
  const char* off = "";       ///< of options that are true by default: what turning them off means
  const char* key = nullptr;  ///< in JSON, if that is not the name
  bool has_value = true;      ///< the value means something; else JSON says null
  bool serialized = true;     ///< written to JSON and checkpoints; else to a file of its own, or nowhere
  bool affects_run = true;  ///< of options: it decides the course of a run, so that a resumed one must agree
  bool trial = true;        ///< of options of fit: as much for a trial of a sweep

  constexpr Field under(const char* text) const { return with(&Field::heading, text); }
  constexpr Field of(const char* text) const { return with(&Field::choices, text); }
  constexpr Field taking(const char* text) const { return with(&Field::takes, text); }
  constexpr Field turned_off(const char* text) const { return with(&Field::off, text); }
  constexpr Field spelled(const char* text) const { return with(&Field::key, text); }
  constexpr Field only_if(bool condition) const { return with(&Field::has_value, condition); }
  constexpr Field apart() const { return with(&Field::serialized, false).aside(); }
  constexpr Field aside() const { return with(&Field::affects_run, false).not_of_trials(); }
  constexpr Field not_of_trials() const { return with(&Field::trial, false); }

  constexpr const char* json_key() const { return key != nullptr ? key : name; }

 private:
  template <class Value>
  constexpr Field with(Value Field::*member, Value value) const {
    Field field = *this;
    field.*member = value;
    return field;
  }
};

/// T is S, or S that may not be changed.
template <class T, class S>
concept Is = std::same_as<std::remove_const_t<T>, S>;

/// The fields of one S beside those of another: visit(field, value, other's value).
template <class S, class Visitor>
void fields_beside(const S& s, const S& other, const Visitor& visit) {
  const auto* begin = reinterpret_cast<const char*>(&s);
  fields(s, [&]<class Value>(const Field& field, const Value& value) {
    const auto at = reinterpret_cast<const char*>(&value) - begin;
    visit(field, value, *reinterpret_cast<const Value*>(reinterpret_cast<const char*>(&other) + at));
  });
}

}  // namespace zeroloss
